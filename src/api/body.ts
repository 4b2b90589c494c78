/** The body of an answer as it comes in: unpacked and cut into pieces on the way, so that its size needs no memory. */
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { parseContentEncoding, tooLargeText, decompressBody } from './decode.ts'
import { createRowSplitter, type ResponseLimits, type SplitBody, type UnreadableReason, defaultResponseLimits } from './row-splitter.ts'

export type BodyResult = { readonly ok: true; readonly splitBody: SplitBody } | ({ readonly ok: false } & UnreadableReason)

export type BodyReader = {
  /** Why the rest of the body is not worth waiting for; null: go on. */
  readonly write: (chunk: Buffer) => UnreadableReason | null
  readonly end: () => Promise<BodyResult>
}

/** Bodies up to this size are unpacked in one go: faster, and nearly all are. */
const singlePassBytes = 1 << 20

const streamDecompressors = { gzip: createGunzip, 'x-gzip': createGunzip, deflate: createInflate, br: createBrotliDecompress }

/** `encoding`: the Content-Encoding header. */
export function createBodyReader(encoding: string | null, maxBytes: number): BodyReader {
  const limits: ResponseLimits = { ...defaultResponseLimits, bytes: maxBytes }
  const names = parseContentEncoding(encoding)
  if (names.length === 0) return plainBodyReader(limits)
  return compressedBodyReader(encoding, names, limits)
}

function plainBodyReader(limits: ResponseLimits): BodyReader {
  const splitter = createRowSplitter(limits)
  return { write: splitter.write, end: async () => ({ ok: true, splitBody: splitter.end() }) }
}

/** Kept as it comes, which is little, and unpacked at its end. */
function compressedBodyReader(encoding: string | null, names: readonly string[], limits: ResponseLimits): BodyReader {
  const chunks: Buffer[] = []
  let size = 0
  return {
    write: (chunk) => {
      size += chunk.length
      chunks.push(chunk)
      return size > limits.bytes ? { why: tooLargeText(limits.bytes), isRetryable: true } : null
    },
    end: async () => {
      const whole = decompressBody(Buffer.concat(chunks), encoding, Math.min(singlePassBytes, limits.bytes))
      if (whole.ok) return splitAll([whole.bytes], limits)
      const [name] = names
      if (!whole.isTooLarge || names.length > 1 || !hasStreamDecompressor(name)) return { ok: false, why: whole.why, isRetryable: true }
      return decompressInChunks(chunks, name, limits)
    },
  }
}

function hasStreamDecompressor(name: string | undefined): name is keyof typeof streamDecompressors {
  return name !== undefined && Object.hasOwn(streamDecompressors, name)
}

async function decompressInChunks(chunks: readonly Buffer[], name: keyof typeof streamDecompressors, limits: ResponseLimits): Promise<BodyResult> {
  const unpacked = streamDecompressors[name]({ chunkSize: 1 << 18 })
  unpacked.end(Buffer.concat(chunks))
  try {
    return await splitAll(unpacked as AsyncIterable<Buffer>, limits)
  } catch {
    return { ok: false, why: `a body that is not ${name}`, isRetryable: true }
  } finally {
    unpacked.destroy()
  }
}

async function splitAll(chunks: Iterable<Buffer> | AsyncIterable<Buffer>, limits: ResponseLimits): Promise<BodyResult> {
  const splitter = createRowSplitter(limits)
  for await (const chunk of chunks) {
    const unreadable = splitter.write(chunk)
    if (unreadable !== null) return { ok: false, ...unreadable }
  }
  return { ok: true, splitBody: splitter.end() }
}
