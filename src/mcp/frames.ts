/**
 * The frames of an assistant: a JSON text a line. One that is too long, or no JSON, is answered
 * with an error, and the next one is read: the protocol's own reader would end the server or stay
 * silent. Numbers keep all their digits.
 */
import { Transform } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'

/** A thousand rows of the longest texts, as most programs write them. */
export const maxFrameBytes = 64 * 2 ** 20

// Source: jsonrpc.org/specification, read 2026-11-28.
const parseError = -32700
const invalidRequest = -32600

/** `answer`: writes a frame to the assistant. */
export function createFrameReader(
  answer: (frame: string) => void,
  maxBytes = maxFrameBytes,
): Transform {
  let parts: Buffer[] = []
  let size = 0
  let head = ''
  let tail = ''
  const reject = (id: unknown, code: number, message: string) =>
    answer(`${JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } })}\n`)
  const take = (part: Buffer) => {
    size += part.length
    // What names the request stands at one of its ends.
    if (head.length < endLength)
      head = `${head}${textOf(part.subarray(0, endLength))}`.slice(0, endLength)
    if (size <= maxBytes) return void parts.push(part)
    tail = `${tail}${textOf((parts.at(-1) ?? empty).subarray(-endLength))}${textOf(part.subarray(-endLength))}`
    tail = tail.slice(-endLength)
    parts = []
  }
  const end = (): Buffer | null => {
    const whole = size > maxBytes ? null : Buffer.concat(parts)
    const id = idAtEnds(head, tail)
    const tooLong =
      `a request of ${size} bytes is longer than the ${maxBytes} that ` +
      'are read: propose fewer rows at once'
    parts = []
    size = 0
    head = ''
    tail = ''
    if (whole === null) {
      reject(id, invalidRequest, tooLong)
      return null
    }
    if (whole.every(isBlank)) return null
    const text = withAllDigits(whole)
    if (text === null) reject(null, parseError, 'the request is no JSON text in one line')
    return text
  }
  return new Transform({
    transform(chunk: Buffer, _, done) {
      let from = 0
      for (let at = chunk.indexOf(lineEnd); at >= 0; at = chunk.indexOf(lineEnd, from)) {
        take(chunk.subarray(from, at))
        const frame = end()
        if (frame !== null) this.push(Buffer.concat([frame, Buffer.of(lineEnd)]))
        from = at + 1
      }
      if (from < chunk.length) take(chunk.subarray(from))
      done()
    },
  })
}

const lineEnd = 0x0a
const endLength = 2000
const isBlank = (byte: number) => byte === 0x20 || byte === 0x0d || byte === 0x09

const empty = Buffer.alloc(0)
const textOf = (part: Buffer) => part.toString('latin1')

/** The id of a request whose rest is not kept; null if neither end shows it. */
function idAtEnds(head: string, tail: string): string | number | null {
  const first =
    /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*("[^"\\]{1,200}"|\d{1,15})\s*,/.exec(
      head,
    )
  const last =
    /,\s*"id"\s*:\s*("[^"\\]{1,200}"|\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/.exec(
      tail,
    )
  const found = first?.[1] ?? last?.[1]
  return found === undefined ? null : JSON.parse(found)
}

/** Whole numbers that JavaScript would round are texts; null: it is no JSON. */
function withAllDigits(frame: Buffer): Buffer | null {
  const text = new StringDecoder('utf8').end(frame)
  try {
    if (!/\d{16}/.test(text)) {
      JSON.parse(text)
      return frame
    }
    const parsed: unknown = JSON.parse(text, keepDigits as (key: string, value: unknown) => unknown)
    return Buffer.from(JSON.stringify(parsed))
  } catch {
    return null
  }
}

/** Source: tc39.es/proposal-json-parse-with-source, read 2026-11-28. */
function keepDigits(_: string, value: unknown, context?: { readonly source?: string }): unknown {
  const isRounded =
    typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)
  return isRounded && /^-?\d+$/.test(context?.source ?? '') ? context?.source : value
}
