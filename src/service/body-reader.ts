/**
 * Reads a response as it arrives: decompressed and split on the way, so its size needs no memory.
 */
import { type Duplex, Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import zlib from 'node:zlib'
import { errorCode } from '../values/user-error.ts'
import {
  createRowSplitter,
  defaultResponseLimits,
  type SplitBody,
  tooLarge,
  type UnreadableReason,
} from './row-splitter.ts'

export type BodyReader = {
  /** Why the rest of the body need not be read; null: continue. */
  readonly write: (chunk: Buffer) => UnreadableReason | null
  readonly end: () => Promise<
    | { readonly ok: true; readonly splitBody: SplitBody }
    | ({ readonly ok: false } & UnreadableReason)
  >
}

const chunkSize = 1 << 18
const gzip = { whole: zlib.gunzipSync, stream: () => zlib.createGunzip({ chunkSize }) }
/** No client asks for zstd, and some proxies send it all the same. */
const decompressors = new Map<string, Decompressor>([
  ['gzip', gzip],
  ['x-gzip', gzip],
  ['deflate', { whole: zlib.inflateSync, stream: () => zlib.createInflate({ chunkSize }) }],
  [
    'zstd',
    { whole: zlib.zstdDecompressSync, stream: () => zlib.createZstdDecompress({ chunkSize }) },
  ],
  [
    'br',
    { whole: zlib.brotliDecompressSync, stream: () => zlib.createBrotliDecompress({ chunkSize }) },
  ],
])
type Decompressor = {
  readonly whole: (bytes: Buffer, options: { readonly maxOutputLength: number }) => Buffer
  readonly stream: () => Duplex
}

export function createBodyReader(encoding: string | null, maxBytes: number): BodyReader {
  const splitter = createRowSplitter({ ...defaultResponseLimits, bytes: maxBytes })
  const names = (encoding ?? '').toLowerCase().split(',')
  const encodings = names
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity')
  if (encodings.length === 0)
    return { write: splitter.write, end: async () => ({ ok: true, splitBody: splitter.end() }) }
  const failed = (why: string) => ({ ok: false, why, isRetryable: true }) as const
  const chunks: Buffer[] = []
  let size = 0
  return {
    // Kept compressed, which is small, and decompressed at its end.
    write: (chunk) => {
      size += chunk.length
      chunks.push(chunk)
      return size > maxBytes ? tooLarge(maxBytes) : null
    },
    end: async () => {
      const unknown = encodings.find((name) => !decompressors.has(name))
      if (unknown !== undefined)
        return failed(`a body in the unknown encoding ${JSON.stringify(unknown.slice(0, 40))}`)
      const steps = encodings.flatMap((name) => decompressors.get(name) ?? []).reverse()
      let unreadable: UnreadableReason | null = null
      try {
        const whole = decompressSmall(Buffer.concat(chunks), steps, Math.min(smallBytes, maxBytes))
        if (whole !== null) unreadable = splitter.write(whole)
        else unreadable = await decompressInChunks(chunks, steps, splitter.write)
      } catch {
        return failed(`a body that is not ${encodings.join(', ')}`)
      }
      return unreadable === null
        ? { ok: true, splitBody: splitter.end() }
        : { ok: false, ...unreadable }
    },
  }
}

/** Bodies up to this size, nearly all, are decompressed at once, which is thirty times faster. */
const smallBytes = 1 << 20

/** Null: it is larger. */
function decompressSmall(
  body: Buffer,
  steps: readonly Decompressor[],
  maxOutputLength: number,
): Buffer | null {
  try {
    return steps.reduce((bytes, { whole }) => whole(bytes, { maxOutputLength }), body)
  } catch (error) {
    if (errorCode(error) === 'ERR_BUFFER_TOO_LARGE') return null
    throw error
  }
}

async function decompressInChunks(
  chunks: readonly Buffer[],
  steps: readonly Decompressor[],
  write: BodyReader['write'],
): Promise<UnreadableReason | null> {
  let unreadable: UnreadableReason | null = null
  const splitter = new Writable({
    write: (chunk, _encoding, done) => {
      unreadable = write(chunk)
      done(unreadable === null ? null : new Error(unreadable.why))
    },
  })
  await pipeline([Readable.from(chunks), ...steps.map(({ stream }) => stream()), splitter]).catch(
    (error) => {
      if (unreadable === null) throw error
    },
  )
  return unreadable
}
