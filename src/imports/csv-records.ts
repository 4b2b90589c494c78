/**
 * Reads a file as it comes: its lines, and of CSV (RFC 4180) records of cells. A quoted cell may
 * span lines.
 */

import { setImmediate as takeTurn } from 'node:timers/promises'
import { type RequestMistake, toMistake } from '../outbox/core/writeback-request.ts'
import { type CsvSeparator, type FileForm, utf16ToUtf8 } from './file-form.ts'

export type TextLine = {
  /** Counts from 1. */
  readonly line: number
  /**
   * Without the line end, but with the CR of a CR LF. With a mistake, it serves only to find the
   * end of a record.
   */
  readonly text: string
  readonly mistake: RequestMistake | null
}

/** The longest valid request takes about 120 KiB as JSON with every character escaped. */
export const maxLineBytes = 1024 * 1024
const lineTooLong = toMistake(null, 'is longer than 1 MiB')

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
  let size = 0
  let pieces: Uint8Array[] = []
  const endLine = (): TextLine => {
    const decoded =
      size > maxLineBytes
        ? { text: '', mistake: lineTooLong }
        : size === 0
          ? noText
          : decode(join(pieces))
    line += 1
    size = 0
    pieces = []
    return {
      ...decoded,
      line,
      text: line === 1 ? decoded.text.replace(/^\uFEFF/, '') : decoded.text,
    }
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

/**
 * The most likely encoding where a line is not in the expected one: Excel saves "CSV" so in Europe
 * and America.
 */
const windows1252 = new TextDecoder('windows-1252')

/** Invalid bytes would reach a customer as replacement characters, so the line is rejected. */
function createDecoder(
  encoding: string,
): (bytes: Uint8Array) => Pick<TextLine, 'text' | 'mistake'> {
  const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true })
  const why =
    encoding === 'utf-8' ? 'is not UTF-8; save the file as "CSV UTF-8"' : `is not ${encoding}`
  return (bytes) => {
    try {
      return { text: decoder.decode(bytes), mistake: null }
    } catch {
      const text = windows1252.decode(bytes)
      return { text, mistake: toMistake(null, why, firstForeignWord(text), 'encoding') }
    }
  }
}

/**
 * The first one with a letter that is not ASCII: a person sees whether the encoding is the right
 * one.
 */
function firstForeignWord(text: string): string | undefined {
  const at = text.search(/[^\0-\x7f]/)
  const words = text.slice(Math.max(0, at - 20), at + 20).split(/[\s,;|"]/)
  return words.find((word) => /[^\0-\x7f]/.test(word))
}

export type CsvRecord = {
  /** The first physical line of the record. */
  readonly line: number
  /** The row as a spreadsheet numbers it: a record is one row, however many lines it has. */
  readonly row: number
  /** With a mistake, what could be read of them: for a person, not for a request. */
  readonly cells: readonly string[]
  readonly mistake: RequestMistake | null
}

/**
 * A record that is not complete yet. `quotedText`: the text so far of an open quoted cell, else
 * null.
 */
type OpenRecord = Omit<CsvRecord, 'cells' | 'mistake'> & {
  cells: string[]
  quotedText: string | null
  size: number
  mistake: RequestMistake | null
}

/** A record that is too long is read up to here, for the rows below it. */
const maxRecordBytes = 8 * maxLineBytes

const strayQuote = toMistake(
  null,
  'has a quote (") in the middle of a cell: enclose the cell in quotes and double the quote',
)
const unclosedQuote = toMistake(
  null,
  'has an unclosed quote, so everything below belongs to this row',
)

/** A misplaced quote affects its record only: the next line begins a new one. */
export async function* readRecords(
  lines: AsyncIterable<TextLine>,
  { separator, hasSeparatorLine }: Pick<FileForm, 'separator' | 'hasSeparatorLine'>,
): AsyncGenerator<CsvRecord> {
  let open: OpenRecord | null = null
  let row = 0
  for await (const { line, text, mistake } of lines) {
    if (line === 1 && hasSeparatorLine) continue
    if (open === null) row += 1
    open ??= { line, row, cells: [], quotedText: null, size: 0, mistake: null }
    open.size += text.length + 1
    open.mistake ??= open.size > maxLineBytes ? lineTooLong : mistake
    // The text of a line that is too long was dropped, so it is unknown whether a quote is open.
    const end = mistake === lineTooLong ? 'complete' : parseCells(open, text, separator)
    if (end === 'invalid') open.mistake ??= strayQuote
    // It is read only to find its end.
    if (open.mistake === lineTooLong) {
      open.cells = []
      open.quotedText &&= ''
    }
    if (end === 'open' && open.size <= maxRecordBytes) continue
    yield open
    if (end === 'open') return
    open = null
  }
  if (open !== null) yield { ...open, mistake: open.mistake ?? unclosedQuote }
}

/**
 * `fullText`: with the CR of a line end, which belongs only to a cell that stays open. `invalid`: a
 * quote is misplaced.
 */
function parseCells(
  open: OpenRecord,
  fullText: string,
  separator: CsvSeparator,
): 'open' | 'complete' | 'invalid' {
  const { cells } = open
  const text = fullText.replace(/\r$/, '')
  for (let at = 0; ; at += 1) {
    const isQuoted = open.quotedText !== null || text[at] === '"'
    if (isQuoted) {
      const from = open.quotedText === null ? at + 1 : at
      const close = findClosingQuote(text, from)
      const part = close < 0 ? `${fullText.slice(from)}\n` : text.slice(from, close)
      const quotedText = (open.quotedText ?? '') + part.replaceAll('""', '"')
      open.quotedText = close < 0 ? quotedText : null
      if (close < 0) return 'open'
      cells.push(quotedText)
      at = close + 1
    } else {
      const next = text.indexOf(separator, at)
      cells.push(text.slice(at, next < 0 ? text.length : next))
      at = next < 0 ? text.length : next
    }
    const isStray = isQuoted
      ? at < text.length && text[at] !== separator
      : cells.at(-1)?.includes('"')
    if (isStray) {
      // What follows the quote stays as it is, so that a person finds it again.
      const [tail = '', ...others] = text.slice(at).split(separator)
      cells.push((cells.pop() ?? '') + tail, ...others)
      return 'invalid'
    }
    if (at >= text.length) return 'complete'
  }
}

function findClosingQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 2))
    if (text[at + 1] !== '"') return at
  return -1
}
