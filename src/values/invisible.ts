/** Characters that nobody sees, which can make a text read differently from what is sent. Pure. */

/**
 * In the group, those that stand together, but for line breaks and tabs. An emoji may hold joiners,
 * variation selectors and tags, and Indic scripts join after a mark. The last five have no shape,
 * and no property says so.
 */
const emojiOrInvisible =
  /\p{RGI_Emoji}|\p{Extended_Pictographic}[\p{Emoji_Modifier}\ufe0e\ufe0f]?(?:\u200d\p{Extended_Pictographic}[\p{Emoji_Modifier}\ufe0e\ufe0f]?)*|(?<=[\p{M}--\p{Default_Ignorable_Code_Point}])\u200d|([[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\p{Zl}\p{Zp}\u2800\u{13441}\u{13442}\u{16fe4}\u{1d159}]--[\n\t]]+)/gv

/** All of the text, in order. */
export function splitInvisible(text: string) {
  const parts: { readonly text: string; readonly isInvisible: boolean }[] = []
  let end = 0
  for (const { 1: characters, index } of text.matchAll(emojiOrInvisible)) {
    if (characters === undefined) continue
    parts.push(
      { text: text.slice(end, index), isInvisible: false },
      { text: characters, isInvisible: true },
    )
    end = index + characters.length
  }
  return [...parts, { text: text.slice(end), isInvisible: false }]
}

/** `U+202E` */
export function codeOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}

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
 * Invisible characters by their codes, `[U+202E]`, because they can make a text read differently
 * from what is sent.
 */
export function showInvisible(text: string): string {
  return showInvisibleInLines(text).replace(/[\n\t]/g, showCodes)
}

/** The same, but line breaks and tabs stay. */
export function showInvisibleInLines(text: string): string {
  return splitInvisible(text)
    .map((part) => (part.isInvisible ? showCodes(part.text) : part.text))
    .join('')
}

const showCodes = (hidden: string) =>
  [...hidden].map((character) => `[${codeOf(character)}]`).join('')

/**
 * A key that a person pasted, such as an id, a ref or the name of a batch: characters that nobody
 * sees come along with it, and blanks around it, and would make another key of it.
 */
export function cleanKey(text: string): string {
  return text
    .replace(/\p{Cf}/gu, '')
    .replace(/\p{Zs}/gu, ' ')
    .trim()
}

/** Without blanks, and characters that nobody sees, around it; those within it stay. */
export function trimInvisible(text: string): string {
  const isSeen = (at: number) => !/[\s\p{Cf}]/u.test(text.charAt(at))
  let start = 0
  let end = text.length
  // A regular expression would take quadratic time on long runs.
  while (start < end && !isSeen(start)) start += 1
  while (end > start && !isSeen(end - 1)) end -= 1
  return text.slice(start, end)
}

/** To compare texts: a service may trim them, and normalize line ends and accents. */
export function normalizeText(text: string | null): string {
  return (text ?? '').normalize('NFC').replace(/\s+/g, ' ').trim()
}
