/** CSV (RFC 4180): physical lines → records of cells. A record goes on over a line end inside of quotes. */
import { maxLineBytes, type TextLine, lineTooLong } from './line-reader.ts'

/** `line` is where the record begins. Where there is a flaw, the cells are not to be used. */
export type CsvRecord = { readonly line: number; readonly cells: readonly string[]; readonly mistake: string | null }

export const csvSeparators = [',', ';', '\t'] as const
export type CsvSeparator = (typeof csvSeparators)[number]

/** A record that is being read. `cell`: what is known of a quoted cell that is not closed yet; null outside of one. */
type OpenRecord = { readonly line: number; readonly cells: string[]; quotedText: string | null; size: number; mistake: string | null }

/** Takes one physical line after another. A broken quote spoils its record only: the next line begins a new one. */
export function createRecordParser(separator: CsvSeparator) {
  let open: OpenRecord | null = null
  const finishRecord = (mistake: string | null): CsvRecord | null => {
    const record = open === null ? null : { line: open.line, cells: open.cells, flaw: open.mistake ?? mistake }
    open = null
    return record
  }
  return {
    take(line: TextLine): CsvRecord | null {
      open ??= { line: line.line, cells: [], quotedText: null, size: 0, mistake: null }
      open.size += line.text.length
      open.mistake ??= open.size > maxLineBytes ? lineTooLong : line.mistake
      // Where a line was too long to be held, nobody knows whether a quote is still open.
      if (line.mistake === lineTooLong) return finishRecord(lineTooLong)
      const end = parseLine(open, line.text, separator)
      return end === 'open' ? null : finishRecord(end === 'broken' ? strayQuoteMistake : null)
    },
    end: (): CsvRecord | null => finishRecord('has a quote that is never closed'),
  }
}

const strayQuoteMistake = 'has a quote (") in the middle of a cell: put the cell into quotes, and write the quote twice'

/** `broken`: there is a quote where none can be. */
function parseLine(open: OpenRecord, text: string, separator: CsvSeparator): 'open' | 'whole' | 'broken' {
  const end = text.endsWith('\r') ? text.length - 1 : text.length
  for (let position = 0; ; position += 1) {
    const quoted = open.quotedText !== null || text[position] === '"'
    position = quoted ? parseQuotedCell(open, text, position) : parsePlainCell(open, text.slice(0, end), position, separator)
    if (open.quotedText !== null) return 'open'
    if (position >= end) return 'whole'
    if (text[position] !== separator) return 'broken'
  }
}

/** Where the cell ends: behind its closing quote. Without one, the cell stays open. */
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

/** Where the cell ends: at a separator, at the line's end, or at a quote that should not be there. */
function parsePlainCell(open: OpenRecord, text: string, position: number, separator: CsvSeparator): number {
  const next = text.indexOf(separator, position)
  const cell = text.slice(position, next < 0 ? text.length : next)
  addCell(open, cell)
  return position + (cell.includes('"') ? cell.indexOf('"') : cell.length)
}

function addCell(open: OpenRecord, cell: string): void {
  if (open.mistake === null) open.cells.push(cell)
}

/** A record with a flaw is read for its end only, and must not grow. */
function textToKeep(open: OpenRecord, cell: string): string {
  return open.mistake === null ? cell : ''
}
