/** Picking rows: how many are picked, Shift for a span, and one box for all of the page. Without it, the boxes work alone. */

export function startPicks() {
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
