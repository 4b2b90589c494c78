/** Trims characters in linear time; a regular expression for it takes quadratic time on long runs. */
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
