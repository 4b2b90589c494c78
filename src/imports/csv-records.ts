/** CSV (RFC 4180): physical lines → records of cells. A record goes on over a line end inside of quotes. */
import { longestLine, type TextLine, tooLong } from './text-lines.ts'

/** `line` is where the record begins. Where there is a flaw, the cells are not to be used. */
export type CsvRecord = { readonly line: number; readonly cells: readonly string[]; readonly flaw: string | null }

export const separators = [',', ';', '\t'] as const
export type Separator = (typeof separators)[number]

/** A record that is being read. `cell`: what is known of a quoted cell that is not closed yet; null outside of one. */
type Open = { readonly line: number; readonly cells: string[]; cell: string | null; size: number; flaw: string | null }

/** Takes one physical line after another. A broken quote spoils its record only: the next line begins a new one. */
export function csvRecords(separator: Separator) {
  let open: Open | null = null
  const closed = (flaw: string | null): CsvRecord | null => {
    const record = open === null ? null : { line: open.line, cells: open.cells, flaw: open.flaw ?? flaw }
    open = null
    return record
  }
  return {
    take(line: TextLine): CsvRecord | null {
      open ??= { line: line.line, cells: [], cell: null, size: 0, flaw: null }
      open.size += line.text.length
      open.flaw ??= open.size > longestLine ? tooLong : line.flaw
      // Where a line was too long to be held, nobody knows whether a quote is still open.
      if (line.flaw === tooLong) return closed(tooLong)
      const end = readOn(open, line.text, separator)
      return end === 'open' ? null : closed(end === 'broken' ? strayQuote : null)
    },
    end: (): CsvRecord | null => closed('has a quote that is never closed'),
  }
}

const strayQuote = 'has a quote (") in the middle of a cell: put the cell into quotes, and write the quote twice'

/** `broken`: there is a quote where none can be. */
function readOn(open: Open, text: string, separator: Separator): 'open' | 'whole' | 'broken' {
  const end = text.endsWith('\r') ? text.length - 1 : text.length
  for (let at = 0; ; at += 1) {
    const quoted = open.cell !== null || text[at] === '"'
    at = quoted ? quotedCell(open, text, at) : plainCell(open, text.slice(0, end), at, separator)
    if (open.cell !== null) return 'open'
    if (at >= end) return 'whole'
    if (text[at] !== separator) return 'broken'
  }
}

/** Where the cell ends: behind its closing quote. Without one, the cell stays open. */
function quotedCell(open: Open, text: string, at: number): number {
  const from = open.cell === null ? at + 1 : at
  const close = closingQuote(text, from)
  const cell = (open.cell ?? '') + text.slice(from, close).replaceAll('""', '"')
  open.cell = close === undefined ? kept(open, `${cell}\n`) : null
  if (close === undefined) return text.length
  put(open, cell)
  return close + 1
}

function closingQuote(text: string, from: number): number | undefined {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 2)) if (text[at + 1] !== '"') return at
  return undefined
}

/** Where the cell ends: at a separator, at the line's end, or at a quote that should not be there. */
function plainCell(open: Open, text: string, at: number, separator: Separator): number {
  const next = text.indexOf(separator, at)
  const cell = text.slice(at, next < 0 ? text.length : next)
  put(open, cell)
  return at + (cell.includes('"') ? cell.indexOf('"') : cell.length)
}

function put(open: Open, cell: string): void {
  if (open.flaw === null) open.cells.push(cell)
}

/** A record with a flaw is read for its end only, and must not grow. */
function kept(open: Open, cell: string): string {
  return open.flaw === null ? cell : ''
}
