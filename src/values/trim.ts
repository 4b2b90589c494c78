/** Trims texts, and reads the name under which a person's decisions are stored. */

const maxLength = 100

/** Spaces that look alike are one. Undefined if it is empty, longer than 100 characters, or contains characters that cannot be seen. */
export function parsePersonName(text: string): string | undefined {
  const name = trimBoth(text.normalize('NFC').replace(/\p{Zs}+/gu, ' '), ' ')
  const isVisible = name.isWellFormed() && !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u.test(name)
  return name !== '' && name.length <= maxLength && isVisible ? name : undefined
}

/** In linear time; a regular expression for it takes quadratic time on long runs. */
export function trimEnd(text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text[end - 1] ?? '')) end -= 1
  return text.slice(0, end)
}

export function trimBoth(text: string, characters: string): string {
  const trimmed = trimEnd(text, characters)
  let start = 0
  while (start < trimmed.length && characters.includes(trimmed[start] ?? '')) start += 1
  return trimmed.slice(start)
}
