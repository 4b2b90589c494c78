/** Write-backs as CSV: an import read, and the same columns written beside what became of each wish. */
import { aboutWhat, readWish, type Wish } from '../core/outbox/wish.ts'
import { csvLine, toCell } from './csv-cells.ts'
import {
  fieldsOf,
  type Header,
  type OutcomeColumn,
  outcomeColumns,
  readHeader,
  separatorOf,
  type WishColumn,
  wishColumns,
} from './csv-columns.ts'
import { type CsvRecord, csvRecords } from './csv-records.ts'
import { type Line, type LineReader, mistaken } from './line.ts'
import type { TextLine } from './text-lines.ts'

/** A broken header is the one mistake of its file: nothing below it can be understood. */
export function csvReader(): LineReader {
  let records: ReturnType<typeof csvRecords> | undefined
  let header: Header | 'broken' | undefined
  const toLine = (record: CsvRecord | null): Line | null => {
    if (record === null || header === 'broken' || isBlank(record)) return null
    if (header !== undefined) return wished(record, header)
    const read = record.flaw === null ? readHeader(record.cells) : { why: [record.flaw] }
    header = 'why' in read ? 'broken' : read
    return 'why' in read ? mistaken(record.line, ...read.why) : null
  }
  return {
    take(line: TextLine): Line | null {
      records ??= csvRecords(separatorOf(line.text))
      return toLine(records.take(line))
    },
    end: () => toLine(records?.end() ?? null),
  }
}

/** Spreadsheets write rows of nothing but separators where somebody emptied a row. */
function isBlank({ cells, flaw }: CsvRecord): boolean {
  return flaw === null && cells.every((cell) => cell.trim() === '')
}

function wished({ line, cells, flaw }: CsvRecord, header: Header): Line {
  if (flaw !== null) return mistaken(line, flaw)
  const beyond = cells.slice(header.length).some((cell) => cell !== '')
  if (beyond) return mistaken(line, `has more cells than the header's ${header.length}`)
  return { line, read: readWish(fieldsOf(cells, header)) }
}

/** What became of a wish, by the names of the table `writebacks`. */
export type Outcome = { readonly [C in OutcomeColumn]?: string | number | null }

/** The header. With a BOM: without one a spreadsheet takes UTF-8 for something else, and spoils what it saves. */
export const csvHead = `\uFEFF${csvLine([...outcomeColumns, ...wishColumns])}`

/** One line under `csvHead`; the import reads the same wish from it. */
export function csvRow(outcome: Outcome, wish: Wish): string {
  const wishes = toFields(wish)
  return csvLine([
    // An outcome that is null is nothing to tell, but a name that is null is to be cleared.
    ...outcomeColumns.map((column) => toCell(outcome[column] ?? '')),
    ...wishColumns.map((column) => toCell(wishes[column] === undefined ? '' : wishes[column])),
  ])
}

type Fields = { readonly [C in WishColumn]?: string | boolean | null }

function toFields({ operation, target, payload, ref, expect, expiresAt }: Wish): Fields {
  const about = aboutWhat[operation]
  return {
    operation,
    [`${about}_id`]: target,
    ...payload,
    ref: ref ?? '',
    expect: expect ?? '',
    expires_at: expiresAt ?? '',
  }
}
