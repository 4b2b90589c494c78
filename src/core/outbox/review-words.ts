/** The first words of a text, to recognise it by. Pure. */

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
