/** Write-backs as CSV: an import read, and the same columns written beside what became of each wish. */
import { targetKind, parseRequest, type WritebackRequest } from '../../core/outbox/writeback-request.ts'
import { toCsvLine, toCsvCell } from './csv-cells.ts'
import {
  toRequestFields,
  type CsvHeader,
  type OutcomeColumn,
  outcomeColumns,
  parseHeader,
  detectSeparator,
  type RequestColumn,
  requestColumns,
} from './csv-columns.ts'
import { type CsvRecord, createRecordParser } from './csv-records.ts'
import { type ImportLine, type LineParser, toMistakenLine } from './import-line.ts'
import type { TextLine } from './line-reader.ts'

/** A broken header is the one mistake of its file: nothing below it can be understood. */
export function createCsvParser(): LineParser {
  let records: ReturnType<typeof createRecordParser> | undefined
  let header: CsvHeader | 'broken' | undefined
  const toLine = (record: CsvRecord | null): ImportLine | null => {
    if (record === null || header === 'broken' || isBlankRecord(record)) return null
    if (header !== undefined) return toImportLine(record, header)
    const result = record.mistake === null ? parseHeader(record.cells) : { why: [record.mistake] }
    header = 'why' in result ? 'broken' : result
    return 'why' in result ? toMistakenLine(record.line, ...result.why) : null
  }
  return {
    parseLine(line: TextLine): ImportLine | null {
      records ??= createRecordParser(detectSeparator(line.text))
      return toLine(records.take(line))
    },
    end: () => toLine(records?.end() ?? null),
  }
}

/** Spreadsheets write rows of nothing but separators where somebody emptied a row. */
function isBlankRecord({ cells, mistake }: CsvRecord): boolean {
  return mistake === null && cells.every((cell) => cell.trim() === '')
}

function toImportLine({ line, cells, mistake }: CsvRecord, header: CsvHeader): ImportLine {
  if (mistake !== null) return toMistakenLine(line, mistake)
  const hasExtraCells = cells.slice(header.length).some((cell) => cell !== '')
  if (hasExtraCells) return toMistakenLine(line, `has more cells than the header's ${header.length}`)
  return { line, result: parseRequest(toRequestFields(cells, header)) }
}

/** What became of a wish, by the names of the table `writebacks`. */
export type OutcomeCells = { readonly [C in OutcomeColumn]?: string | number | null }

/** The header. With a BOM: without one a spreadsheet takes UTF-8 for something else, and spoils what it saves. */
export const csvHeader = `\uFEFF${toCsvLine([...outcomeColumns, ...requestColumns])}`

/** One line under `csvHead`; the import reads the same wish from it. */
export function toCsvRow(outcome: OutcomeCells, request: WritebackRequest): string {
  const requestCells = toRequestCells(request)
  return toCsvLine([
    // An outcome that is null is nothing to tell, but a name that is null is to be cleared.
    ...outcomeColumns.map((column) => toCsvCell(outcome[column] ?? '')),
    ...requestColumns.map((column) => toCsvCell(requestCells[column] === undefined ? '' : requestCells[column])),
  ])
}

type RequestCells = { readonly [C in RequestColumn]?: string | boolean | null }

function toRequestCells({ operation, target, payload, ref, expect, expiresAt }: WritebackRequest): RequestCells {
  const kind = targetKind[operation]
  return {
    operation,
    [`${kind}_id`]: target,
    ...payload,
    ref: ref ?? '',
    expect: expect ?? '',
    expires_at: expiresAt ?? '',
  }
}
