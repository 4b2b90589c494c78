/** The body of an answer as it comes in: unpacked and cut into pieces on the way, so that its size needs no memory. */
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { encodings, tooLarge, unpack } from './decode.ts'
import { createScanner, type Limits, type Scanned, type Unreadable, usualLimits } from './scan.ts'

export type Body = { readonly ok: true; readonly scanned: Scanned } | ({ readonly ok: false } & Unreadable)

export type BodyReader = {
  /** Why the rest of the body is not worth waiting for; null: go on. */
  readonly write: (chunk: Buffer) => Unreadable | null
  readonly end: () => Promise<Body>
}

/** Bodies up to this size are unpacked in one go: faster, and nearly all are. */
const small = 1 << 20

const unpackers = { gzip: createGunzip, 'x-gzip': createGunzip, deflate: createInflate, br: createBrotliDecompress }

/** `encoding`: the Content-Encoding header. */
export function readBody(encoding: string | null, maxBytes: number): BodyReader {
  const limits: Limits = { ...usualLimits, bytes: maxBytes }
  const names = encodings(encoding)
  if (names.length === 0) return plainBody(limits)
  return packedBody(encoding, names, limits)
}

function plainBody(limits: Limits): BodyReader {
  const scanner = createScanner(limits)
  return { write: scanner.write, end: async () => ({ ok: true, scanned: scanner.end() }) }
}

/** Kept as it comes, which is little, and unpacked at its end. */
function packedBody(encoding: string | null, names: readonly string[], limits: Limits): BodyReader {
  const chunks: Buffer[] = []
  let size = 0
  return {
    write: (chunk) => {
      size += chunk.length
      chunks.push(chunk)
      return size > limits.bytes ? { why: tooLarge(limits.bytes), again: true } : null
    },
    end: async () => {
      const whole = unpack(Buffer.concat(chunks), encoding, Math.min(small, limits.bytes))
      if (whole.ok) return scanAll([whole.bytes], limits)
      const [name] = names
      if (!whole.large || names.length > 1 || !isUnpacker(name)) return { ok: false, why: whole.why, again: true }
      return unpackInParts(chunks, name, limits)
    },
  }
}

function isUnpacker(name: string | undefined): name is keyof typeof unpackers {
  return name !== undefined && Object.hasOwn(unpackers, name)
}

async function unpackInParts(chunks: readonly Buffer[], name: keyof typeof unpackers, limits: Limits): Promise<Body> {
  const unpacked = unpackers[name]({ chunkSize: 1 << 18 })
  unpacked.end(Buffer.concat(chunks))
  try {
    return await scanAll(unpacked as AsyncIterable<Buffer>, limits)
  } catch {
    return { ok: false, why: `a body that is not ${name}`, again: true }
  } finally {
    unpacked.destroy()
  }
}

async function scanAll(chunks: Iterable<Buffer> | AsyncIterable<Buffer>, limits: Limits): Promise<Body> {
  const scanner = createScanner(limits)
  for await (const chunk of chunks) {
    const unreadable = scanner.write(chunk)
    if (unreadable !== null) return { ok: false, ...unreadable }
  }
  return { ok: true, scanned: scanner.end() }
}
