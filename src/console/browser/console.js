/**
 * The console works without any of this. It keeps open pages current, and adds keys and picks. It
 * writes text and attributes only, and moves parts of a page that the server made.
 */

const storageName = 'deskmirror-keys'
/** Between an answer and the next question for the page. */
const leastWaitMs = 3000
const timeoutMs = 60_000

const state = document.querySelector('[data-live-state]')
let isPaused = false

startKeys()
startPicks()
startWriting()
reloadWhileCounting()
if (document.body.hasAttribute('data-live')) startLive()

/**
 * Keys: the page lists them, and `?` shows the list. They can be switched off. Nothing that cannot
 * be taken back has one.
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
    const isWriting =
      target instanceof Element &&
      target.closest('input, textarea, select, [contenteditable]') !== null
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

/**
 * What is still being counted is mostly there a moment later; what cannot be counted is not asked
 * for again and again.
 */
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

/**
 * Picking rows: how many are picked, Shift for a span, and one box for all of the page. Without it,
 * the boxes work alone.
 */
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
    if (text !== null)
      text.textContent =
        count === 0 ? 'Pick rows to decide about some of them:' : `${count} picked:`
    for (const button of form.querySelectorAll('button'))
      button.toggleAttribute('disabled', count === 0)
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
 * While the page is open and visible, what it says and offers becomes what it would say and offer
 * then.
 */
function startLive() {
  showPause()
  showState('live')
  askLater(leastWaitMs)
}

/** @param {number} waitMs */
function askLater(waitMs) {
  setTimeout(() => (isPaused || document.hidden ? askLater(leastWaitMs) : ask()), waitMs)
}

/**
 * Asks for the page as it is now, without the rows that stay. The answer becomes a document without
 * running anything.
 */
function ask() {
  const address = new URL(location.href)
  if (element('[data-live-kept]') !== null) address.searchParams.set('only', 'state')
  const askedAt = performance.now()
  const request = new XMLHttpRequest()
  request.open('GET', address)
  request.responseType = 'document'
  request.timeout = timeoutMs
  request.onloadend = () => {
    const now = request.status === 200 ? /** @type {Document | null} */ (request.response) : null
    if (now !== null && now.querySelector('[data-live-part]') === null)
      return showState('signed out')
    if (!isPaused) showState(now === null ? 'not connected' : 'live')
    if (now !== null && !isPaused) exchangeParts(now)
    // A page that is slow to make keeps the server busy for a fifth of the time at most.
    askLater(Math.max(leastWaitMs, 4 * (performance.now() - askedAt)))
  }
  request.send()
}

/** @param {Document} now */
function exchangeParts(now) {
  for (const part of document.querySelectorAll('[data-live-part]')) {
    const fresh = now.querySelector(`[data-live-part="${part.getAttribute('data-live-part')}"]`)
    if (fresh === null) continue
    const kept = part.getAttribute('data-live-kept')
    const next = fresh.getAttribute('data-live-kept')
    // Rows are not exchanged while a person reads them, unless none are left: a link appears.
    if (kept === null || next === null) exchange(part, fresh)
    const hasNewer = kept !== null && next !== null && next !== kept
    if (kept !== null) element('[data-live-newer]')?.toggleAttribute('hidden', !hasNewer)
  }
  const offered =
    now.querySelector('[data-live-offered]')?.getAttribute('data-live-offered')?.split(' ') ?? []
  for (const button of document.querySelectorAll('[data-live-kept] button[name="decision"]'))
    button.toggleAttribute('hidden', !offered.includes(button.getAttribute('value') ?? ''))
}

/** @param {Element} part @param {Element} fresh */
function exchange(part, fresh) {
  const { activeElement } = document
  const focused = part.contains(activeElement) ? activeElement?.textContent : null
  update(part, fresh)
  if (part.hasAttribute('data-live-kept')) startPicks()
  if (focused === null || activeElement?.isConnected) return
  // Never on to another button: a key that was meant for the one before would press it.
  const same = [...part.querySelectorAll('a, button')].find(
    ({ textContent }) => textContent === focused,
  )
  part.setAttribute('tabindex', '-1')
  const next = /** @type {HTMLElement} */ (same ?? part)
  next.focus()
}

/**
 * Element by element: what is the same keeps its focus, selection and scrolling. @param {Element}
 * shown @param {Element} fresh
 */
function update(shown, fresh) {
  for (const { name, value } of fresh.attributes) shown.setAttribute(name, value)
  const nodes = [...shown.childNodes]
  const next = [...fresh.childNodes].map((node) => document.importNode(node, true))
  if (nodes.length !== next.length) return shown.replaceChildren(...next)
  for (const [n, node] of nodes.entries()) {
    const other = next[n]
    if (other === undefined || node.isEqualNode(other)) continue
    const isInPlace =
      node.nodeName === other.nodeName && node instanceof Element && !node.matches('a, button')
    if (isInPlace && other instanceof Element) update(node, other)
    else node.replaceWith(other)
  }
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
