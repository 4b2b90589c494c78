/** CSV (RFC 4180): converts physical lines to records of cells. A quoted cell may span lines. */
import { type RequestMistake, toMistake } from '../outbox/core/writeback-request.ts'
import type { CsvSeparator, FileForm } from './file-form.ts'
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
const unclosedQuote = toMistake(null, 'has an unclosed quote, so everything below belongs to this row')

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

/** `fullText`: with the CR of a line end, which belongs only to a cell that stays open. `invalid`: a quote is misplaced. */
function parseCells(open: OpenRecord, fullText: string, separator: CsvSeparator): 'open' | 'complete' | 'invalid' {
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
    const isStray = isQuoted ? at < text.length && text[at] !== separator : cells.at(-1)?.includes('"')
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
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 2)) if (text[at + 1] !== '"') return at
  return -1
}
