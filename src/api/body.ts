/** Reads the body of a response as it arrives: decompressed and split on the way, so that its size needs no memory. */
import { createDecompressStream, decompressBody, parseContentEncoding, tooLargeText } from './decode.ts'
import { defaultResponseLimits, type ResponseLimits, type SplitBody, type UnreadableReason } from './row-batches.ts'
import { createRowSplitter } from './row-splitter.ts'

type BodyResult = { readonly ok: true; readonly splitBody: SplitBody } | ({ readonly ok: false } & UnreadableReason)

export type BodyReader = {
  /** Why the rest of the body need not be read; null: continue. */
  readonly write: (chunk: Buffer) => UnreadableReason | null
  readonly end: () => Promise<BodyResult>
}

/** Bodies up to this size, nearly all, are decompressed at once, which is faster. */
const singlePassBytes = 1 << 20

/** `encoding`: the Content-Encoding header. */
export function createBodyReader(encoding: string | null, maxBytes: number): BodyReader {
  const limits: ResponseLimits = { ...defaultResponseLimits, bytes: maxBytes }
  const names = parseContentEncoding(encoding)
  if (names.length > 0) return compressedBodyReader(encoding, names, limits)
  const splitter = createRowSplitter(limits)
  return { write: splitter.write, end: async () => ({ ok: true, splitBody: splitter.end() }) }
}

/** Kept compressed, which is small, and decompressed at its end. */
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
      const [name, ...others] = names
      const isInChunks = whole.isTooLarge && name !== undefined && others.length === 0
      return isInChunks ? decompressInChunks(chunks, name, limits) : { ok: false, why: whole.why, isRetryable: true }
    },
  }
}

async function decompressInChunks(chunks: Buffer[], encoding: string, limits: ResponseLimits): Promise<BodyResult> {
  const decompressed = createDecompressStream(encoding)
  decompressed.end(Buffer.concat(chunks))
  try {
    return await splitAll(decompressed as AsyncIterable<Buffer>, limits)
  } catch {
    return { ok: false, why: `a body that is not ${encoding}`, isRetryable: true }
  } finally {
    decompressed.destroy()
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
