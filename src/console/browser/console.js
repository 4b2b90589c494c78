/** The console works without any of this. It adds live numbers, keys and picks, and writes text and attributes only. */

const storageName = 'deskmirror-keys'

const state = document.querySelector('[data-live-state]')
const pause = /** @type {HTMLButtonElement | null} */ (document.querySelector('[data-live-pause]'))
let isPaused = false

startKeys()
startPicks()
const { liveProject } = document.body.dataset
if (liveProject !== undefined) startLive(liveProject)

/**
 * Keys: `/` searches, `g` and a letter goes to a page, `j` and `k` move between rows, `x` picks one. They can be switched
 * off. Nothing that cannot be taken back has a key.
 */
function startKeys() {
  let isOn = localStorage.getItem(storageName) !== 'off'
  let isGoing = false
  const button = /** @type {HTMLButtonElement | null} */ (document.querySelector('[data-keys]'))
  const show = () => {
    if (button === null) return
    button.hidden = false
    button.textContent = isOn ? 'Keys are on' : 'Keys are off'
    button.title = '/ search · g and a letter: go to a page · j k rows · x pick · p pause'
    button.setAttribute('aria-pressed', String(isOn))
    for (const link of document.querySelectorAll('[data-key]'))
      link.setAttribute('title', isOn ? `g ${link.getAttribute('data-key')}` : '')
  }
  button?.addEventListener('click', () => {
    isOn = !isOn
    localStorage.setItem(storageName, isOn ? 'on' : 'off')
    show()
  })
  document.addEventListener('keydown', (event) => {
    if (!isOn || event.ctrlKey || event.altKey || event.metaKey || isWriting(event.target)) return
    const wasGoing = isGoing
    isGoing = !wasGoing && event.key === 'g'
    if (wasGoing) return follow(`[data-key="${CSS.escape(event.key)}"]`)
    if (event.key === '/') return focusSearch(event)
    if (event.key === 'p') return click('[data-live-pause]')
    if (event.key === 'x') click('tr:focus-within input[name="id"]')
    if (event.key === 'j' || event.key === 'k') moveRow(event.key === 'j' ? 1 : -1)
  })
  show()
}

/** @param {EventTarget | null} target */
function isWriting(target) {
  return target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null
}

/** @param {string} selector */
function follow(selector) {
  const link = document.querySelector(selector)
  if (link instanceof HTMLAnchorElement) location.assign(link.href)
}

/** @param {string} selector */
function click(selector) {
  const button = document.querySelector(selector)
  if (button instanceof HTMLElement) button.click()
}

/** @param {KeyboardEvent} event */
function focusSearch(event) {
  const field = document.querySelector('.search input')
  if (!(field instanceof HTMLElement)) return
  event.preventDefault()
  field.focus()
}

/** The first link of each row. @param {1 | -1} step */
function moveRow(step) {
  const links = [...document.querySelectorAll('main tr, main .sentences li')].flatMap((row) => {
    const link = row.querySelector('a')
    return link === null ? [] : [link]
  })
  const { activeElement } = document
  const at = activeElement instanceof HTMLAnchorElement ? links.indexOf(activeElement) : -1
  links[Math.min(links.length - 1, Math.max(0, at + step))]?.focus()
}

/** Picking rows: how many are picked, Shift for a span, and one box for all of the page. Without it, the boxes work alone. */
function startPicks() {
  const form = document.querySelector('form[data-picks]')
  if (!(form instanceof HTMLFormElement)) return
  const boxes = /** @type {HTMLInputElement[]} */ ([...form.querySelectorAll('input[name="id"]')])
  const text = form.querySelector('[data-picked]')
  const all = addBoxForAll(form, boxes)
  /** @type {HTMLInputElement | null} */
  let last = null
  const show = () => {
    const count = boxes.filter(({ checked }) => checked).length
    if (text !== null) text.textContent = count === 0 ? 'Pick rows to decide about some of them:' : `${count} picked:`
    for (const button of form.querySelectorAll('button')) button.toggleAttribute('disabled', count === 0)
    if (all !== null) all.checked = count === boxes.length
  }
  form.addEventListener('click', (event) => {
    const { target } = event
    if (!(target instanceof HTMLInputElement)) return
    if (target === all) for (const box of boxes) box.checked = target.checked
    else if (event.shiftKey && last !== null) pickSpan(boxes, last, target)
    if (target !== all) last = target
    show()
  })
  show()
}

/** @param {HTMLInputElement[]} boxes @param {HTMLInputElement} from @param {HTMLInputElement} to */
function pickSpan(boxes, from, to) {
  const [first, second] = [boxes.indexOf(from), boxes.indexOf(to)]
  for (const box of boxes.slice(Math.min(first, second), Math.max(first, second) + 1)) box.checked = to.checked
}

/** @param {HTMLFormElement} form @param {HTMLInputElement[]} boxes */
function addBoxForAll(form, boxes) {
  const head = form.querySelector('thead th')
  if (head === null || boxes.length < 2) return null
  const box = document.createElement('input')
  box.type = 'checkbox'
  box.setAttribute('aria-label', 'Pick all rows of this page')
  head.replaceChildren(box)
  return box
}

/**
 * Live numbers. A browser opens six connections to a server at most, so of all tabs of a project one has the stream and
 * tells the others; the one that holds the lock is the one.
 *
 * @typedef {{ texts: Record<string, string>, shapes: Record<string, string> }} Message
 */

/** @param {string} project */
function startLive(project) {
  const name = `deskmirror-live-${project}`
  const channel = new BroadcastChannel(name)
  channel.onmessage = ({ data }) => receive(data)
  showPause()
  /** @param {Message | null} message */
  const share = (message) => {
    channel.postMessage(message)
    receive(message)
  }
  const address = `/console/p/${encodeURIComponent(project)}/live`
  if ('locks' in navigator) void navigator.locks.request(name, () => holdStream(address, share))
  else openWhileVisible(address, share)
}

/**
 * Never ends, so that the lock is held until the tab is closed.
 *
 * @param {string} address
 * @param {(message: Message | null) => void} share
 */
function holdStream(address, share) {
  openStream(address, share)
  return new Promise(() => {})
}

/**
 * Web Locks are missing on plain http of another machine.
 *
 * @param {string} address
 * @param {(message: Message | null) => void} share
 */
function openWhileVisible(address, share) {
  /** @type {EventSource | null} */
  let source = null
  const update = () => {
    source?.close()
    source = document.hidden ? null : openStream(address, share)
  }
  document.addEventListener('visibilitychange', update)
  update()
}

/**
 * @param {string} address
 * @param {(message: Message | null) => void} share null: the connection is lost
 */
function openStream(address, share) {
  const source = new EventSource(address)
  source.onmessage = ({ data }) => share(JSON.parse(data))
  source.onerror = () => share(null)
  return source
}

/** @param {Message | null} message */
function receive(message) {
  showState(message === null ? 'not connected' : isPaused ? 'paused' : 'live')
  if (message === null || isPaused) return
  for (const element of document.querySelectorAll('[data-live]')) {
    const text = message.texts[element.getAttribute('data-live') ?? '']
    if (text !== undefined && element.textContent !== text) element.textContent = text
  }
  for (const bar of document.querySelectorAll('[data-live-value]')) {
    const value = message.texts[bar.getAttribute('data-live-value') ?? '']
    if (value !== undefined) bar.setAttribute('value', value)
  }
  showNewer(message)
}

/** Rows are never exchanged while a person reads them: a link appears. @param {Message} message */
function showNewer(message) {
  const shown = document.querySelector('[data-live-shape]')
  const newer = document.querySelector('[data-live-newer]')
  if (shown === null || newer === null) return
  const shape = message.shapes[shown.getAttribute('data-live-about') ?? '']
  newer.toggleAttribute('hidden', shape === shown.getAttribute('data-live-shape'))
}

/** @param {string} text */
function showState(text) {
  if (state !== null && state.textContent !== text) state.textContent = text
}

function showPause() {
  if (pause === null) return
  pause.hidden = false
  pause.addEventListener('click', () => {
    isPaused = !isPaused
    pause.textContent = isPaused ? 'Continue' : 'Pause'
    pause.setAttribute('aria-pressed', String(isPaused))
    showState(isPaused ? 'paused' : 'live')
  })
}
