/** Converts UTF-16, in which Excel saves "Unicode text", to UTF-8. */

export type Utf16 = 'utf-16le' | 'utf-16be'

/** An unpaired surrogate becomes this byte, which makes its line invalid UTF-8 instead of changing its text. */
const invalidUtf8 = Buffer.of(0xff)

export async function* utf16ToUtf8(bytes: AsyncIterable<Uint8Array>, encoding: Utf16): AsyncGenerator<Uint8Array> {
  let rest = Buffer.alloc(0)
  for await (const chunk of bytes) {
    const all = Buffer.concat([rest, chunk])
    const complete = completeLength(all, encoding)
    rest = all.subarray(complete)
    yield encodeUtf8(decodeUtf16(all.subarray(0, complete), encoding))
  }
  if (rest.length > 0) yield invalidUtf8
}

/** An odd last byte is dropped. */
export function decodeUtf16(bytes: Buffer, encoding: Utf16): string {
  const even = bytes.subarray(0, bytes.length - (bytes.length % 2))
  return (encoding === 'utf-16le' ? even : Buffer.from(even).swap16()).toString('utf16le')
}

/** Without half a unit, and without a high surrogate whose low one is in the next chunk. */
function completeLength(bytes: Buffer, encoding: Utf16): number {
  const even = bytes.length - (bytes.length % 2)
  if (even === 0) return 0
  const last = encoding === 'utf-16le' ? bytes.readUInt16LE(even - 2) : bytes.readUInt16BE(even - 2)
  return last >= 0xd800 && last < 0xdc00 ? even - 2 : even
}

function encodeUtf8(text: string): Uint8Array {
  if (text.isWellFormed()) return Buffer.from(text)
  const parts = text.split(/\p{Surrogate}/u).map((part) => Buffer.from(part))
  return Buffer.concat(parts.flatMap((part, index) => (index === 0 ? [part] : [invalidUtf8, part])))
}
