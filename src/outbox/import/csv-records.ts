/** CSV (RFC 4180): converts physical lines to records of cells. A quoted cell may span lines. */
import { type RequestMistake, toMistake } from '../core/request-mistake.ts'
import type { CsvSeparator } from './file-form.ts'
import { lineTooLong, maxLineBytes, type TextLine } from './line-reader.ts'

export type CsvRecord = {
  /** The first physical line of the record. */
  readonly line: number
  /** The row as a spreadsheet numbers it: a record is one row, however many lines it has. */
  readonly row: number
  /** With a mistake, what could be read of them: for a person, not for a request. */
  readonly cells: readonly string[]
  readonly mistake: RequestMistake | null
}

/** A record that is not complete yet. `quotedText`: the text so far of an open quoted cell, else null. */
type OpenRecord = {
  readonly line: number
  readonly cells: string[]
  quotedText: string | null
  size: number
  mistake: RequestMistake | null
}

type RecordParser = {
  /** The record that the line completes; null while one is open. */
  readonly parseLine: (line: TextLine) => CsvRecord | null
  readonly isLost: () => boolean
  /** The record that is still open at the end of the file. */
  readonly end: () => CsvRecord | null
}

/** Parses one physical line at a time. A misplaced quote affects its record only: the next line begins a new one. */
export function createRecordParser(separator: CsvSeparator): RecordParser {
  let open: OpenRecord | null = null
  let row = 0
  const finishRecord = (mistake: RequestMistake | null): CsvRecord | null => {
    if (open === null) return null
    row += 1
    const record = { line: open.line, row, cells: open.cells, mistake: open.mistake ?? mistake }
    open = null
    return record
  }
  return {
    parseLine(line) {
      if (open === null) row += line.count - 1
      else open.quotedText = (open.quotedText ?? '') + `${line.text}\n`.repeat(line.count - 1)
      open ??= { line: line.line, cells: [], quotedText: null, size: 0, mistake: null }
      open.size += (line.text.length + 1) * line.count
      open.mistake ??= open.size > maxLineBytes ? lineTooLong : line.mistake
      // The text of a line that is too long was dropped, so it is unknown whether a quote is open.
      if (line.mistake === lineTooLong) return finishRecord(lineTooLong)
      const end = parseCells(open, line.text, separator)
      return end === 'open' ? null : finishRecord(end === 'invalid' ? strayQuote : null)
    },
    isLost: () => open !== null && open.size > maxRecordBytes,
    end: () => finishRecord(unclosedQuote),
  }
}

/** A record that is too long is read up to here, for the rows below it. */
const maxRecordBytes = 8 * maxLineBytes

const strayQuote = toMistake(
  null,
  'has a quote (") in the middle of a cell: enclose the cell in quotes and double the quote',
)
const unclosedQuote = toMistake(null, 'has an unclosed quote, so everything below belongs to this row')

/** `invalid`: a quote is misplaced. */
function parseCells(open: OpenRecord, text: string, separator: CsvSeparator): 'open' | 'complete' | 'invalid' {
  const end = text.endsWith('\r') ? text.length - 1 : text.length
  for (let position = 0; ; position += 1) {
    const start = position
    const quoted = open.quotedText !== null || text[position] === '"'
    position = quoted
      ? parseQuotedCell(open, text, position)
      : parsePlainCell(open, text.slice(0, end), position, separator)
    if (open.quotedText !== null) return 'open'
    if (position >= end) return 'complete'
    if (text[position] === separator) continue
    const last = open.cells.pop() ?? ''
    addRest(open, last, text.slice(quoted ? position : start + last.length, end).split(separator))
    return 'invalid'
  }
}

/** What follows a misplaced quote, as it is, so that a person finds it again. */
function addRest(open: OpenRecord, last: string, [tail = '', ...others]: readonly string[]): void {
  for (const cell of [last + tail, ...others]) addCell(open, cell)
}

/** Returns the position after the closing quote. Without a closing quote, the cell stays open. */
function parseQuotedCell(open: OpenRecord, text: string, position: number): number {
  const from = open.quotedText === null ? position + 1 : position
  const close = findClosingQuote(text, from)
  const cell = (open.quotedText ?? '') + text.slice(from, close).replaceAll('""', '"')
  open.quotedText = close === undefined ? textToKeep(open, `${cell}\n`) : null
  if (close === undefined) return text.length
  addCell(open, cell)
  return close + 1
}

function findClosingQuote(text: string, from: number): number | undefined {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 2)) if (text[at + 1] !== '"') return at
  return undefined
}

/** Returns the position of the separator, the line end or a misplaced quote. */
function parsePlainCell(open: OpenRecord, text: string, position: number, separator: CsvSeparator): number {
  const next = text.indexOf(separator, position)
  const cell = text.slice(position, next < 0 ? text.length : next)
  addCell(open, cell)
  return position + (cell.includes('"') ? cell.indexOf('"') : cell.length)
}

function addCell(open: OpenRecord, cell: string): void {
  if (open.mistake !== lineTooLong) open.cells.push(cell)
}

/** A record that is too long is read only to find its end, so its text is dropped. */
function textToKeep(open: OpenRecord, cell: string): string {
  return open.mistake === lineTooLong ? '' : cell
}
