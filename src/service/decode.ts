/** Decodes the bytes of a body: decompressed, with a cap on the output, and strictly UTF-8. */
import zlib from 'node:zlib'

/** `isTooLarge`: the output would exceed the cap. */
type DecompressResult =
  | { readonly ok: true; readonly bytes: Buffer }
  | { readonly ok: false; readonly why: string; readonly isTooLarge: boolean }

const chunkSize = 1 << 18
const gzip = { whole: zlib.gunzipSync, stream: () => zlib.createGunzip({ chunkSize }) }
const decompressors = new Map([
  ['gzip', gzip],
  ['x-gzip', gzip],
  ['deflate', { whole: zlib.inflateSync, stream: () => zlib.createInflate({ chunkSize }) }],
  ['br', { whole: zlib.brotliDecompressSync, stream: () => zlib.createBrotliDecompress({ chunkSize }) }],
])

/** Throws if the encoding is unknown. */
export function createDecompressStream(encoding: string): NodeJS.ReadWriteStream & { destroy: () => unknown } {
  const decompressor = decompressors.get(encoding)
  if (decompressor === undefined) throw new Error('unknown encoding')
  return decompressor.stream()
}

/** `encoding`: the Content-Encoding header. `maxBytes`: cap on the output. */
export function decompressBody(body: Buffer, encoding: string | null, maxBytes: number): DecompressResult {
  let bytes = body
  for (const name of parseContentEncoding(encoding).reverse()) {
    const decompressor = decompressors.get(name)
    const unknown = `a body in the unknown encoding ${JSON.stringify(name.slice(0, 40))}`
    if (decompressor === undefined) return { ok: false, why: unknown, isTooLarge: false }
    try {
      bytes = decompressor.whole(bytes, { maxOutputLength: maxBytes })
    } catch (error) {
      if (isTooLarge(error)) return { ok: false, why: tooLargeText(maxBytes), isTooLarge: true }
      return { ok: false, why: `a body that is not ${name}`, isTooLarge: false }
    }
  }
  return { ok: true, bytes }
}

export function tooLargeText(maxBytes: number): string {
  return `a body of more than ${maxBytes} bytes`
}

/** The encodings in a Content-Encoding header, without `identity`. */
export function parseContentEncoding(header: string | null): string[] {
  const names = (header ?? '').toLowerCase().split(',')
  return names.map((name) => name.trim()).filter((name) => name !== '' && name !== 'identity')
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true })

/** Null: not UTF-8. Strict, because a replaced character would be a change that no one notices. */
export function decodeUtf8(bytes: Buffer): string | null {
  try {
    return strictUtf8.decode(bytes)
  } catch {
    return null
  }
}
