/**
 * Live numbers. A browser opens six connections to a server at most, so of all tabs of a project one has the stream and
 * tells the others; the one that holds the lock is the one.
 *
 * @typedef {{ texts: Record<string, string>, shapes: Record<string, string> }} Message
 */

const state = document.querySelector('[data-live-state]')
const pause = /** @type {HTMLButtonElement | null} */ (document.querySelector('[data-live-pause]'))
let isPaused = false

/** @param {string} project */
export function startLive(project) {
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
