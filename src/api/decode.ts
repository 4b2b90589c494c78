/** The text of bytes that came: unpacked, with a cap on what comes out, and strictly UTF-8. */
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'

/** `large`: it would unpack to more than the cap. */
export type Unpacked =
  | { readonly ok: true; readonly bytes: Buffer }
  | { readonly ok: false; readonly why: string; readonly large: boolean }

type Decompress = (body: Buffer, options: { readonly maxOutputLength: number }) => Buffer

const decompressors: ReadonlyMap<string, Decompress> = new Map<string, Decompress>([
  ['gzip', gunzipSync],
  ['x-gzip', gunzipSync],
  ['deflate', inflateSync],
  ['br', brotliDecompressSync],
])

/** `encoding`: the Content-Encoding header. `maxBytes` holds for what comes out. */
export function unpack(body: Buffer, encoding: string | null, maxBytes: number): Unpacked {
  let bytes = body
  for (const name of encodings(encoding).reverse()) {
    const decompress = decompressors.get(name)
    if (decompress === undefined) {
      return { ok: false, why: `a body in the unknown encoding ${JSON.stringify(name.slice(0, 40))}`, large: false }
    }
    try {
      bytes = decompress(bytes, { maxOutputLength: maxBytes })
    } catch (error) {
      const large = isTooLarge(error)
      return { ok: false, why: large ? tooLarge(maxBytes) : `a body that is not ${name}`, large }
    }
  }
  return { ok: true, bytes }
}

export function tooLarge(maxBytes: number): string {
  return `a body of more than ${maxBytes} bytes`
}

/** The names in a Content-Encoding header, but the one that means none. */
export function encodings(header: string | null): string[] {
  return (header ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity')
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
}

const strict = new TextDecoder('utf-8', { fatal: true })

/** Null: it is not UTF-8. Strict, because a replaced character would be a change that nobody sees. */
export function toText(bytes: Buffer): string | null {
  try {
    return strict.decode(bytes)
  } catch {
    return null
  }
}
