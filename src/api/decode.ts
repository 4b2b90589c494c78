/** The text of bytes that came: unpacked, with a cap on what comes out, and strictly UTF-8. */
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'

/** `large`: it would unpack to more than the cap. */
export type DecompressResult =
  | { readonly ok: true; readonly bytes: Buffer }
  | { readonly ok: false; readonly why: string; readonly isTooLarge: boolean }

type Decompress = (body: Buffer, options: { readonly maxOutputLength: number }) => Buffer

const decompressors: ReadonlyMap<string, Decompress> = new Map<string, Decompress>([
  ['gzip', gunzipSync],
  ['x-gzip', gunzipSync],
  ['deflate', inflateSync],
  ['br', brotliDecompressSync],
])

/** `encoding`: the Content-Encoding header. `maxBytes` holds for what comes out. */
export function decompressBody(body: Buffer, encoding: string | null, maxBytes: number): DecompressResult {
  let bytes = body
  for (const name of parseContentEncoding(encoding).reverse()) {
    const decompress = decompressors.get(name)
    if (decompress === undefined) {
      return { ok: false, why: `a body in the unknown encoding ${JSON.stringify(name.slice(0, 40))}`, isTooLarge: false }
    }
    try {
      bytes = decompress(bytes, { maxOutputLength: maxBytes })
    } catch (error) {
      const exceedsCap = isTooLarge(error)
      return { ok: false, why: exceedsCap ? tooLargeText(maxBytes) : `a body that is not ${name}`, isTooLarge: exceedsCap }
    }
  }
  return { ok: true, bytes }
}

export function tooLargeText(maxBytes: number): string {
  return `a body of more than ${maxBytes} bytes`
}

/** The names in a Content-Encoding header, but the one that means none. */
export function parseContentEncoding(header: string | null): string[] {
  return (header ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity')
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true })

/** Null: it is not UTF-8. Strict, because a replaced character would be a change that nobody sees. */
export function decodeUtf8(bytes: Buffer): string | null {
  try {
    return strictUtf8.decode(bytes)
  } catch {
    return null
  }
}
