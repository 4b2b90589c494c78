/** Texts of others in a review: their first words, and their invisible characters. Pure. */

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

/**
 * Invisible characters by their codes, `[U+202E]`, because they can make a text read differently from what is sent.
 * A joiner after an emoji or a mark stays.
 */
export function showInvisible(text: string): string {
  return text.replace(invisible, (character) => {
    const code = character.codePointAt(0) ?? 0
    return `[U+${code.toString(16).toUpperCase().padStart(4, '0')}]`
  })
}

const invisible =
  /(?<![\p{Extended_Pictographic}\p{Emoji_Modifier}\p{M}])\u200d|(?!\u200d)[\p{Cf}\p{Cc}\u2028\u2029\u115f\u1160\u3164\uffa0]/gu
