/**
 * The text of a file that people write, whatever program saved it: UTF-8 or UTF-16, with a byte
 * order mark or without, with the line ends of any system. Pure.
 */

export type Utf16 = 'utf-16le' | 'utf-16be'

/**
 * By its byte order mark, else by the zero bytes of its first characters, which are ASCII in every
 * file that is read here.
 */
export function detectUtf16([first, second]: Uint8Array): Utf16 | null {
  if (first === undefined || second === undefined) return null
  if ((first === 0xff && second === 0xfe) || (first > 0 && second === 0)) return 'utf-16le'
  if ((first === 0xfe && second === 0xff) || (first === 0 && second > 0)) return 'utf-16be'
  return null
}

/** A line that ends with CR alone ends with LF. What cannot be read becomes U+FFFD. */
export function decodeFileText(bytes: Uint8Array): string {
  const text = new TextDecoder(detectUtf16(bytes) ?? 'utf-8').decode(bytes)
  return text.replace(/\r(?!\n)/g, '\n')
}
