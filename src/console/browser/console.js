/**
 * The console works without any of this. It adds live numbers, keys and picks. It writes text and attributes only, and
 * moves parts of a page that the server made.
 */

const storageName = 'deskmirror-keys'

const state = document.querySelector('[data-live-state]')
let isPaused = false
/** For how many messages in a row the page has been another one than the stream says. */
let differing = 0

startKeys()
startPicks()
startWriting()
reloadWhileCounting()
const { liveProject } = document.body.dataset
if (liveProject !== undefined) startLive(liveProject)

/**
 * Keys: the page lists them, and `?` shows the list. They can be switched off. Nothing that cannot be taken back has one.
 */
function startKeys() {
  let isOn = localStorage.getItem(storageName) !== 'off'
  let isGoing = false
  const button = element('[data-keys]')
  const show = () => {
    button?.removeAttribute('hidden')
    if (button !== null) button.textContent = isOn ? 'Switch keys off' : 'Switch keys on'
    for (const link of document.querySelectorAll('[data-key]'))
      link.setAttribute('title', isOn ? `g ${link.getAttribute('data-key')}` : '')
  }
  button?.addEventListener('click', () => {
    isOn = !isOn
    localStorage.setItem(storageName, isOn ? 'on' : 'off')
    show()
  })
  document.addEventListener('keydown', (event) => {
    const { target, key } = event
    const isWriting = target instanceof Element && target.closest('input, textarea, select, [contenteditable]') !== null
    if (!isOn || event.ctrlKey || event.altKey || event.metaKey || isWriting) return
    const wasGoing = isGoing
    isGoing = !wasGoing && key === 'g'
    if (wasGoing) return element(`a[data-key="${CSS.escape(key)}"]`)?.click()
    const search = element('.search input')
    if (key === '/' && search !== null) {
      event.preventDefault()
      search.focus()
    }
    if (key === '?') element('#keys')?.togglePopover()
    if (key === 'p') element('[data-live-pause]')?.click()
    if (key === 'x') element('tr:focus-within input[name="id"]')?.click()
    if (key === 'j' || key === 'k') moveRow(key === 'j' ? 1 : -1)
  })
  show()
}

/** What is still being counted is mostly there a moment later; what cannot be counted is not asked for again and again. */
function reloadWhileCounting() {
  const tries = Number(sessionStorage.getItem(location.href))
  if (element('[data-counting]') === null) return sessionStorage.removeItem(location.href)
  sessionStorage.setItem(location.href, String(tries + 1))
  if (tries < 20) setTimeout(() => location.reload(), 1000 * (1 + tries))
}

/** @param {string} selector @returns {HTMLElement | null} */
function element(selector) {
  return document.querySelector(selector)
}

/** The first link of each row. @param {1 | -1} step */
function moveRow(step) {
  const rows = [...document.querySelectorAll('main tr, main .sentences li')]
  const links = rows.map((row) => row.querySelector('a')).filter((link) => link !== null)
  const at = links.indexOf(/** @type {HTMLAnchorElement} */ (document.activeElement))
  links[Math.min(links.length - 1, Math.max(0, at + step))]?.focus()
}

/** Picking rows: how many are picked, Shift for a span, and one box for all of the page. Without it, the boxes work alone. */
function startPicks() {
  const form = document.querySelector('form[data-picks]')
  if (form === null) return
  const text = form.querySelector('[data-picked]')
  const boxes = /** @type {HTMLInputElement[]} */ ([...form.querySelectorAll('input[name="id"]')])
  const all = document.createElement('input')
  all.type = 'checkbox'
  all.setAttribute('aria-label', 'Pick all rows of this page')
  if (boxes.length > 1) form.querySelector('thead th')?.replaceChildren(all)
  let last = -1
  const show = () => {
    const count = boxes.filter(({ checked }) => checked).length
    if (text !== null) text.textContent = count === 0 ? 'Pick rows to decide about some of them:' : `${count} picked:`
    for (const button of form.querySelectorAll('button')) button.toggleAttribute('disabled', count === 0)
    all.checked = count === boxes.length
  }
  form.addEventListener('click', (event) => {
    const { target } = event
    if (!(target instanceof HTMLInputElement)) return
    const at = boxes.indexOf(target)
    const isSpan = /** @type {MouseEvent} */ (event).shiftKey && last >= 0 && at >= 0
    const span = isSpan ? boxes.slice(Math.min(last, at), Math.max(last, at) + 1) : []
    for (const box of target === all ? boxes : span) box.checked = target.checked
    if (target !== all) last = at
    show()
  })
  show()
}

/** Ctrl+Enter, or Command+Enter, sends what a person writes. */
function startWriting() {
  const form = document.querySelector('form[data-write]')
  element('[data-submit-key]')?.removeAttribute('hidden')
  form?.addEventListener('keydown', (event) => {
    const { key, ctrlKey, metaKey } = /** @type {KeyboardEvent} */ (event)
    if (key !== 'Enter' || !(ctrlKey || metaKey)) return
    event.preventDefault()
    if (form instanceof HTMLFormElement) form.requestSubmit()
  })
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
  const openStream = () => {
    const source = new EventSource(`/console/p/${encodeURIComponent(project)}/live`)
    /** @param {Message | null} message null: the connection is lost */
    const share = (message) => {
      channel.postMessage(message)
      receive(message)
    }
    source.onmessage = ({ data }) => share(JSON.parse(data))
    source.onerror = () => share(null)
    return source
  }
  // It never ends, so that the lock is held until the tab is closed.
  const hold = () => new Promise(() => openStream())
  // Web Locks are missing on plain http of another machine.
  if ('locks' in navigator) void navigator.locks.request(name, hold)
  else openWhileVisible(openStream)
}

/** @param {() => EventSource} openStream */
function openWhileVisible(openStream) {
  /** @type {EventSource | null} */
  let source = null
  const update = () => {
    source?.close()
    source = document.hidden ? null : openStream()
  }
  document.addEventListener('visibilitychange', update)
  update()
}

/** @param {Message | null} message */
function receive(message) {
  showState(message === null ? 'not connected' : isPaused ? 'paused' : 'live')
  if (message === null || isPaused) return
  for (const shown of document.querySelectorAll('[data-live]')) {
    const text = message.texts[shown.getAttribute('data-live') ?? '']
    if (text !== undefined && shown.textContent !== text) shown.textContent = text
  }
  for (const bar of document.querySelectorAll('[data-live-value]')) {
    const value = message.texts[bar.getAttribute('data-live-value') ?? '']
    if (value !== undefined) bar.setAttribute('value', value)
  }
  const shown = element('[data-live-shape]')
  if (shown === null) return
  const isSame = message.shapes[shown.dataset.liveAbout ?? ''] === shown.dataset.liveShape
  // Rows are never exchanged while a person reads them: a link appears.
  const { liveRows, liveCount } = element('[data-live-rows]')?.dataset ?? {}
  const count = liveRows === undefined ? undefined : message.texts[liveRows]
  const hasParts = element('[data-live-part]') !== null
  const isRead = hasParts ? count === undefined || count === liveCount : isSame
  element('[data-live-newer]')?.toggleAttribute('hidden', isRead)
  differing = isSame ? 0 : differing + 1
  // After 2 s, and ever more rarely if the page still differs: at last twice a minute.
  if (hasParts && Number.isInteger(Math.log2(differing))) exchangeParts(liveRows !== undefined)
  if (differing === 32) differing = 16
}

/**
 * Puts the parts of the page as it is now in the place of those that are shown. An answer of the server becomes a document
 * without running anything. @param {boolean} keepsRows
 */
function exchangeParts(keepsRows) {
  const address = new URL(location.href)
  if (keepsRows) address.searchParams.set('only', 'state')
  const request = new XMLHttpRequest()
  request.open('GET', address)
  request.responseType = 'document'
  request.onload = () => {
    const now = /** @type {Document | null} */ (request.response)?.querySelector('[data-live-shape]')
    const shown = element('[data-live-shape]')
    if (shown === null || !(now instanceof Element)) return
    for (const name of ['data-live-shape', 'data-live-offered']) shown.setAttribute(name, now.getAttribute(name) ?? '')
    for (const part of shown.querySelectorAll('[data-live-part]')) {
      const fresh = now.querySelector(`[data-live-part="${part.getAttribute('data-live-part')}"]`)
      if (fresh !== null && !(keepsRows && part.hasAttribute('data-live-rows'))) exchange(part, fresh)
    }
    const offered = (shown.dataset.liveOffered ?? '').split(' ')
    for (const button of shown.querySelectorAll('button[name="decision"]'))
      button.toggleAttribute('hidden', !offered.includes(button.getAttribute('value') ?? ''))
  }
  request.send()
}

/** @param {Element} part @param {Element} fresh */
function exchange(part, fresh) {
  if (part.isEqualNode(fresh)) return
  const { activeElement } = document
  const focused = part.contains(activeElement) ? activeElement?.textContent : null
  for (const { name, value } of fresh.attributes) part.setAttribute(name, value)
  part.replaceChildren(...[...fresh.childNodes].map((node) => document.importNode(node, true)))
  if (part.hasAttribute('data-live-rows')) startPicks()
  if (focused === null) return
  // Never on to another button: a key that was meant for the one before would press it.
  const same = [...part.querySelectorAll('a, button')].find(({ textContent }) => textContent === focused)
  part.setAttribute('tabindex', '-1')
  const next = /** @type {HTMLElement} */ (same ?? part)
  next.focus()
}

/** @param {string} text */
function showState(text) {
  if (state !== null && state.textContent !== text) state.textContent = text
}

function showPause() {
  const pause = element('[data-live-pause]')
  if (pause === null) return
  pause.hidden = false
  pause.addEventListener('click', () => {
    isPaused = !isPaused
    pause.textContent = isPaused ? 'Resume live numbers' : 'Pause live numbers'
    pause.setAttribute('aria-pressed', String(isPaused))
    showState(isPaused ? 'paused' : 'live')
  })
}
