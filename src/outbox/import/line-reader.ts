/** Splits bytes into lines of text. Files of any size need the memory of one line of limited length. */
import { isUtf8 } from 'node:buffer'
import { type RequestMistake, toMistake } from '../core/request-mistake.ts'
import { type FileForm, utf16ToUtf8 } from './file-form.ts'

export type TextLine = {
  readonly line: number
  /** Without the line end, but with the CR of a CR LF. With a mistake, it serves only to find the end of a record. */
  readonly text: string
  /** How often the line stands there: a run of the same blank line is one item, as a file can have millions of them. */
  readonly count: number
  readonly mistake: RequestMistake | null
}

/** The longest valid request takes about 120 KiB as JSON with every character escaped. */
export const maxLineBytes = 1024 * 1024
export const lineTooLong = toMistake(null, 'is longer than 1 MiB')

const lineEndBytes = { lf: 0x0a, cr: 0x0d } as const

/** In batches: those of one chunk. Counts from 1. Text after the last line end is a line if it is not empty. Drops a BOM. */
export async function* readTextLines(
  bytes: AsyncIterable<Uint8Array>,
  { encoding, lineEnd }: Pick<FileForm, 'encoding' | 'lineEnd'>,
): AsyncGenerator<readonly TextLine[]> {
  const isUtf16 = encoding === 'utf-16le' || encoding === 'utf-16be'
  const decode = isUtf16 ? decodeUtf8 : createDecoder(encoding)
  let next = 1
  const toTextLine = ({ pieces, size, count }: LineBytes): TextLine => {
    const line = next
    next += count
    if (size > maxLineBytes) return { line, text: '', count, mistake: lineTooLong }
    if (size === 0) return { line, text: '', count, mistake: null }
    const { text, mistake } = decode(Buffer.concat(pieces, size))
    return { line, text: line === 1 && text.startsWith('\uFEFF') ? text.slice(1) : text, count, mistake }
  }
  for await (const lines of splitBytes(isUtf16 ? utf16ToUtf8(bytes, encoding) : bytes, lineEnd))
    yield lines.map(toTextLine)
}

type LineBytes = { readonly pieces: readonly Uint8Array[]; readonly size: number; readonly count: number }

/** Yields the lines that end in each chunk. */
async function* splitBytes(
  bytes: AsyncIterable<Uint8Array>,
  lineEnd: FileForm['lineEnd'],
): AsyncGenerator<readonly LineBytes[]> {
  const endByte = lineEndBytes[lineEnd]
  let pieces: Uint8Array[] = []
  let size = 0
  const addPiece = (piece: Uint8Array) => {
    size += piece.length
    if (size > maxLineBytes) pieces = []
    else if (piece.length > 0) pieces.push(piece)
  }
  for await (const chunk of bytes) {
    const lines: LineBytes[] = []
    let from = 0
    for (let end = chunk.indexOf(endByte); end >= 0; end = chunk.indexOf(endByte, from)) {
      const line = chunk.subarray(from, end)
      const count = size === 0 && isBlank(line) ? countRepeats(chunk, from, line.length + 1) : 1
      addPiece(line)
      lines.push({ pieces, size, count })
      if (size > 0) pieces = []
      size = 0
      from = end + 1 + (count - 1) * (line.length + 1)
    }
    addPiece(chunk.subarray(from))
    yield lines
  }
  if (size > 0) yield [{ pieces, size, count: 1 }]
}

function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d)
}

/** How often the line of `length` bytes at `from`, with its line end, stands there. */
function countRepeats(chunk: Uint8Array, from: number, length: number): number {
  let at = from + length
  while (at < chunk.length && chunk[at] === chunk[at - length]) at += 1
  return Math.floor((at - from) / length)
}

type DecodedLine = Pick<TextLine, 'text' | 'mistake'>

/** Invalid bytes would reach a customer as replacement characters, so the line is rejected. */
function decodeUtf8(bytes: Buffer): DecodedLine {
  if (isUtf8(bytes)) return { text: bytes.toString('utf8'), mistake: null }
  const text = windows1252.decode(bytes)
  return { text, mistake: toMistake(null, 'is not UTF-8; save the file as "CSV UTF-8"', firstWord(text), 'encoding') }
}

/** The first one with a letter that is not ASCII: a person sees whether the encoding is the right one. */
function firstWord(text: string): string | undefined {
  const at = text.search(/[^\0-\x7f]/)
  const words = text.slice(Math.max(0, at - 20), at + 20).split(/[\s,;|"]/)
  return words.find((word) => /[^\0-\x7f]/.test(word))
}

/** The most likely encoding of such a file: Excel saves "CSV" so in Western Europe and America. */
const windows1252 = new TextDecoder('windows-1252')

function createDecoder(encoding: string): (bytes: Buffer) => DecodedLine {
  if (encoding === 'utf-8') return decodeUtf8
  const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true })
  return (bytes) => {
    try {
      return { text: decoder.decode(bytes), mistake: null }
    } catch {
      return { text: windows1252.decode(bytes), mistake: toMistake(null, `is not ${encoding}`) }
    }
  }
}
