/** The text of a body: uncompressed, with a cap on what comes out, and strictly UTF-8. */
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'

export type Decoded = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly why: string }

type Decompress = (body: Buffer, options: { readonly maxOutputLength: number }) => Buffer

const decompressors: Readonly<Record<string, Decompress>> = {
  identity: (body) => body,
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
}

/** `encoding`: the Content-Encoding header. `maxBytes` holds for the body before and after decompression. */
export function decodeBody(body: Buffer, encoding: string | null, maxBytes: number): Decoded {
  let bytes = body
  for (const name of encodings(encoding).reverse()) {
    const decompress = decompressors[name]
    if (decompress === undefined) return { ok: false, why: `a body in the unknown encoding ${JSON.stringify(name)}` }
    try {
      bytes = decompress(bytes, { maxOutputLength: maxBytes })
    } catch (error) {
      return { ok: false, why: isTooLarge(error) ? tooLarge(maxBytes) : `a body that is not ${name}` }
    }
  }
  return toText(bytes)
}

export function tooLarge(maxBytes: number): string {
  return `a body of more than ${maxBytes} bytes`
}

function encodings(header: string | null): string[] {
  return (header ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
}

/** Strict, because a replaced character would be a change that nobody sees. */
function toText(bytes: Buffer): Decoded {
  try {
    return { ok: true, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) }
  } catch {
    return { ok: false, why: 'a body that is not UTF-8' }
  }
}
