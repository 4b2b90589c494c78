/**
 * Keys: `/` searches, `g` and a letter goes to a page, `j` and `k` move between rows, `x` picks one. They can be switched
 * off. Nothing that cannot be taken back has a key.
 */

const storageName = 'deskmirror-keys'

export function startKeys() {
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
