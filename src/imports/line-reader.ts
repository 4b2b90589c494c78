/** Splits bytes into lines of text. Files of any size need the memory of one line of limited length. */
import { setImmediate as takeTurn } from 'node:timers/promises'
import { type RequestMistake, toMistake } from '../outbox/core/writeback-request.ts'
import { type FileForm, utf16ToUtf8 } from './file-form.ts'

export type TextLine = {
  /** Counts from 1. */
  readonly line: number
  /** Without the line end, but with the CR of a CR LF. With a mistake, it serves only to find the end of a record. */
  readonly text: string
  readonly mistake: RequestMistake | null
}

/** The longest valid request takes about 120 KiB as JSON with every character escaped. */
export const maxLineBytes = 1024 * 1024
export const lineTooLong = toMistake(null, 'is longer than 1 MiB')

const lineEndBytes = { lf: 0x0a, cr: 0x0d } as const

/** A worker that takes an upload answers others in between. */
const linesPerTurn = 500

/** Text after the last line end is a line if it is not empty. Drops a BOM. */
export async function* readTextLines(
  bytes: AsyncIterable<Uint8Array>,
  { encoding, lineEnd }: Pick<FileForm, 'encoding' | 'lineEnd'>,
): AsyncGenerator<TextLine> {
  const isUtf16 = encoding === 'utf-16le' || encoding === 'utf-16be'
  const decode = createDecoder(isUtf16 ? 'utf-8' : encoding)
  let line = 0
  let [size, pieces]: [number, Uint8Array[]] = [0, []]
  const endLine = (): TextLine => {
    const decoded =
      size > maxLineBytes ? { text: '', mistake: lineTooLong } : size === 0 ? noText : decode(join(pieces))
    line += 1
    size = 0
    pieces = []
    return { ...decoded, line, text: line === 1 ? decoded.text.replace(/^\uFEFF/, '') : decoded.text }
  }
  for await (const chunk of isUtf16 ? utf16ToUtf8(bytes, encoding) : bytes) {
    for (let from = 0; from < chunk.length; ) {
      const found = chunk.indexOf(lineEndBytes[lineEnd], from)
      const end = found < 0 ? chunk.length : found
      size += end - from
      if (size > maxLineBytes) pieces = []
      else pieces.push(chunk.subarray(from, end))
      from = end + 1
      if (found < 0) continue
      yield endLine()
      if (line % linesPerTurn === 0) await takeTurn()
    }
  }
  if (size > 0) yield endLine()
}

const noText = { text: '', mistake: null }

/** Most lines are in one piece. */
function join(pieces: readonly Uint8Array[]): Uint8Array {
  const [first, second] = pieces
  return first !== undefined && second === undefined ? first : Buffer.concat(pieces)
}

/** The most likely encoding where a line is not in the expected one: Excel saves "CSV" so in Europe and America. */
const windows1252 = new TextDecoder('windows-1252')

/** Invalid bytes would reach a customer as replacement characters, so the line is rejected. */
function createDecoder(encoding: string): (bytes: Uint8Array) => Pick<TextLine, 'text' | 'mistake'> {
  const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true })
  const why = encoding === 'utf-8' ? 'is not UTF-8; save the file as "CSV UTF-8"' : `is not ${encoding}`
  return (bytes) => {
    try {
      return { text: decoder.decode(bytes), mistake: null }
    } catch {
      const text = windows1252.decode(bytes)
      return { text, mistake: toMistake(null, why, firstForeignWord(text), 'encoding') }
    }
  }
}

/** The first one with a letter that is not ASCII: a person sees whether the encoding is the right one. */
function firstForeignWord(text: string): string | undefined {
  const at = text.search(/[^\0-\x7f]/)
  const words = text.slice(Math.max(0, at - 20), at + 20).split(/[\s,;|"]/)
  return words.find((word) => /[^\0-\x7f]/.test(word))
}
