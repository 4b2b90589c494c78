/** Texts of others in a review: their first words, and their invisible characters. Pure. */

import { codeOf, splitInvisible } from '../invisible.ts'

/** In characters. */
const maxCharacters = 120

/** On one line; `…` shows that more follows. */
export function excerpt(text: string): string {
  // A longer text is cut first, as white space is searched in all of it.
  const line = text
    .slice(0, 20 * maxCharacters)
    .replace(/\s+/g, ' ')
    .trim()
  const characters = [...line]
  const isCut = characters.length > maxCharacters || text.length > 20 * maxCharacters
  return isCut
    ? `${characters
        .slice(0, maxCharacters - 1)
        .join('')
        .trimEnd()}…`
    : line
}

/** Invisible characters by their codes, `[U+202E]`, because they can make a text read differently from what is sent. */
export function showInvisible(text: string): string {
  const show = (hidden: string) => [...hidden].map((character) => `[${codeOf(character)}]`).join('')
  const parts = splitInvisible(text).map((part) =>
    part.isInvisible ? show(part.text) : part.text.replace(/[\n\t]/g, show),
  )
  return parts.join('')
}
