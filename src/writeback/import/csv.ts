/** Write-backs as CSV: parses an import, and writes the same columns with the outcome of each write-back. */
import { parseRequest, targetKind, type WritebackRequest } from '../../core/outbox/writeback-request.ts'
import { toCsvCell, toCsvLine } from './csv-cells.ts'
import {
  type CsvHeader,
  detectSeparator,
  type OutcomeColumn,
  outcomeColumns,
  parseHeader,
  type RequestColumn,
  requestColumns,
  toRequestFields,
} from './csv-columns.ts'
import { type CsvRecord, createRecordParser, type RecordParser } from './csv-records.ts'
import { type ImportLine, type LineParser, toMistakenLine } from './import-line.ts'

/** An invalid header is reported as the file's only mistake, as the lines below cannot be interpreted. */
export function createCsvParser(): LineParser {
  let records: RecordParser | undefined
  let header: CsvHeader | 'invalid' | undefined
  const toLine = (record: CsvRecord | null): ImportLine | null => {
    if (record === null || header === 'invalid' || isBlankRecord(record)) return null
    if (header !== undefined) return toImportLine(record, header)
    const result = record.mistake === null ? parseHeader(record.cells) : { why: [record.mistake] }
    header = 'why' in result ? 'invalid' : result
    return 'why' in result ? toMistakenLine(record.line, ...result.why) : null
  }
  return {
    parseLine(line) {
      records ??= createRecordParser(detectSeparator(line.text))
      return toLine(records.parseLine(line))
    },
    end: () => toLine(records?.end() ?? null),
  }
}

/** Spreadsheets write a row of separators where a row was cleared. */
function isBlankRecord({ cells, mistake }: CsvRecord): boolean {
  return mistake === null && cells.every((cell) => cell.trim() === '')
}

function toImportLine({ line, cells, mistake }: CsvRecord, header: CsvHeader): ImportLine {
  if (mistake !== null) return toMistakenLine(line, mistake)
  const hasExtraCells = cells.slice(header.length).some((cell) => cell !== '')
  if (hasExtraCells) return toMistakenLine(line, `has more cells than the header's ${header.length}`)
  return { line, result: parseRequest(toRequestFields(cells, header)) }
}

/** The outcome of a write-back, by column name of the table `writebacks`. */
export type OutcomeCells = { readonly [C in OutcomeColumn]?: string | number | null }

/** Starts with a BOM, as spreadsheets otherwise misread UTF-8 and save it damaged. */
export const csvHeader = `\uFEFF${toCsvLine([...outcomeColumns, ...requestColumns])}`

/** One line below `csvHeader`. Importing it gives the same request. */
export function toCsvRow(outcome: OutcomeCells, request: WritebackRequest): string {
  const requestCells = toRequestCells(request)
  return toCsvLine([
    // In an outcome, null means no value (an empty cell); in a request, null clears a field.
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
