/** Cuts letters off the ends of a text, in one pass: an expression for it looks at a long row of them once for each. */

export function trimEnd(text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text[end - 1] ?? '')) end -= 1
  return text.slice(0, end)
}

export function trimBoth(text: string, characters: string): string {
  const ended = trimEnd(text, characters)
  let start = 0
  while (start < ended.length && characters.includes(ended[start] ?? '')) start += 1
  return ended.slice(start)
}
