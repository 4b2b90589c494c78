/** Whether two texts are the same words to the person who reads them. Pure. */

/**
 * Spaces, line ends, letter case and the marks that programs replace (quotes, dashes, ellipses) make no difference.
 * Texts with the same result have the same words.
 */
export function toWords(text: string): string {
  return text
    .normalize('NFKC')
    .replace(/[‘’‚‛′´`]/g, "'")
    .replace(/[“”„‟«»″]/g, '"')
    .replace(/[‐-―−]/g, '-')
    .replace(/\p{Cf}/gu, '')
    .replace(/\s+/g, ' ')
    .trim()
    .toLowerCase()
}
