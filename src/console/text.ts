/** Texts that other people wrote. Each is isolated, so that its direction cannot turn the text around it. */
import { isFound } from '../core/console/search-words.ts'
import { formatCount } from '../core/format.ts'
import { type Html, html } from '../core/html/html.ts'
import { codeOf, splitInvisible } from '../core/invisible.ts'

/** Of any origin; null or empty: a dash. */
export function foreignText(text: string | null): Html {
  return text === null || text === '' ? html`<span class="faint">–</span>` : html`<bdi>${text}</bdi>`
}

/** Shortened to about so many characters. */
export function shortened(text: string | null, length: number): Html {
  const characters = [...(text ?? '').slice(0, 4 * length)]
  return foreignText(characters.length > length ? `${characters.slice(0, length).join('')}…` : text)
}

/** Exactly what is there: line breaks stay, and characters that nobody could see are named. */
export function exactText(text: string | null): Html {
  if (text === null || text === '') return foreignText(text)
  const parts = splitInvisible(text).map((part) =>
    part.isInvisible ? html`<span class="invisible" title="invisible">${namesOf(part.text)}</span>` : part.text,
  )
  return html`<bdi class="exact">${parts}</bdi>`
}

/** `U+200B U+202E×3` */
function namesOf(characters: string): string {
  const names: string[] = []
  for (const [run, character = ''] of characters.matchAll(/(.)\1*/gsu)) {
    const name = codeOf(character)
    const count = run.length / character.length
    names.push(count === 1 ? name : `${name}×${count}`)
  }
  return names.join(' ')
}

/** The first so many characters of a text, exactly, and how many more there are. */
export function exactStart(text: string | null, length: number): Html {
  if (text === null || text.length <= length) return exactText(text)
  return html`${exactText(text.slice(0, length))} <span class="faint">… and ${formatCount(text.length - length)} more characters</span>`
}

/** The words of the query within the text, marked. */
export function markedText(text: string | null, words: readonly string[]): Html {
  if (text === null || words.length === 0) return foreignText(text)
  const parts = text.split(/([\p{L}\p{N}\p{M}]+)/u)
  return html`<bdi>${parts.map((part, index) => (index % 2 === 1 && isFound(part, words) ? html`<mark>${part}</mark>` : part))}</bdi>`
}
