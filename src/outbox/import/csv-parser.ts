/** Parses a CSV import: its header, then a request from each row. */

import { idSchema, maxLengths } from '../core/request-fields.ts'
import { type RequestMistake, toMistake } from '../core/request-mistake.ts'
import { foreignFieldMistake, parseRequest, type RequestParseResult } from '../core/writeback-request.ts'
import { columnLetter } from './csv-columns.ts'
import { type CsvRecord, createRecordParser } from './csv-records.ts'
import {
  type CsvHeader,
  type IgnoredColumns,
  isBlankRow,
  isField,
  namesColumns,
  parseHeader,
  type RowFields,
  toRowFields,
} from './csv-values.ts'
import type { FileForm } from './file-form.ts'
import type { TextLine } from './line-reader.ts'
import { withTextMistakes } from './spreadsheet-damage.ts'

/** The header, once it is known. `rejected`: a later row may still explain why. */
type ParserState =
  | { readonly at: 'header' }
  | { readonly at: 'rows'; readonly header: CsvHeader }
  | { readonly at: 'rejected'; readonly header: ImportLine; readonly upTo: number }
  | { readonly at: 'end' }

/** An invalid header is reported as the file's only mistake, as the rows below cannot be interpreted. */
export function createCsvParser(
  { separator, hasSeparatorLine }: Pick<FileForm, 'separator' | 'hasSeparatorLine'>,
  ignoreColumns?: IgnoredColumns,
): LineParser {
  const records = createRecordParser(separator)
  let state: ParserState = { at: 'header' }
  const takeRecord = (record: CsvRecord | null): ImportLine | null => {
    if (record === null || isBlankRecord(record)) return null
    if (state.at === 'rows') return toImportLine(record, state.header, separator)
    if (state.at === 'header') {
      state = parseFirstRow(record, ignoreColumns)
      return null
    }
    if (state.at === 'end' || (record.row <= state.upTo && !namesColumns(record.cells))) return null
    const line = record.row > state.upTo ? state.header : withTitleHint(state.header, record.row)
    state = { at: 'end' }
    return line
  }
  return {
    parseLine: (line) => (line.line === 1 && hasSeparatorLine ? null : takeRecord(records.parseLine(line))),
    isLost: records.isLost,
    end() {
      const last = takeRecord(records.end())
      return last === null && state.at === 'rejected' ? state.header : last
    },
  }
}

/** Rows of titles above the header are common; more are not searched. */
const maxTitleRows = 10

function parseFirstRow(record: CsvRecord, ignoreColumns?: IgnoredColumns): ParserState {
  const result =
    record.mistake === null
      ? parseHeader(record.cells, ignoreColumns)
      : { ok: false as const, mistakes: [record.mistake] }
  if (result.ok) return { at: 'rows', header: result.header }
  const upTo = record.mistake !== null || namesColumns(record.cells) ? 0 : record.row + maxTitleRows
  return { at: 'rejected', header: toMistakenHeader(record, result.mistakes), upTo }
}

function toMistakenHeader({ line, row, cells }: CsvRecord, mistakes: readonly RequestMistake[]): ImportLine {
  return { line, row, result: { ok: false, mistakes }, ref: null, source: { format: 'csv header', cells } }
}

function withTitleHint(header: ImportLine, row: number): ImportLine {
  const mistakes = [toMistake(null, `does not name the columns, but row ${row} does: delete the rows above that`)]
  return { ...header, result: { ok: false, mistakes } }
}

/** Spreadsheets write a row of separators for a row that was cleared. */
function isBlankRecord({ cells, mistake }: CsvRecord): boolean {
  return mistake === null && cells.every((cell) => cell.trim() === '')
}

/** Null for a row that holds nothing to do: cleared checkboxes, or the header again, as in files that were joined. */
function toImportLine(record: CsvRecord, header: CsvHeader, separator: string): ImportLine | null {
  const { line, row, cells, mistake } = record
  if (mistake === null && (isBlankRow(cells, header) || isHeaderAgain(cells, header))) return null
  const rowFields = toRowFields(cells, header)
  const { fields, mistakes: cellMistakes } = rowFields
  const recordMistakes = mistake === null ? misplacedCells(cells, header) : [mistake]
  const mistakes = [...recordMistakes, ...swallowedRows(cells, header, separator), ...cellMistakes]
  const result = addMistakes(mistake === null ? withTextMistakes(parseFields(rowFields)) : undefined, mistakes)
  const ref = typeof fields.ref === 'string' ? fields.ref : null
  return { line, row, result, ref, source: { format: 'csv', header, cells } }
}

/** Mistakes show the cells as a person sees them: `WAHR` instead of true. */
function parseFields({ fields, cells }: RowFields): RequestParseResult {
  const result = parseRequest(fields)
  if (result.ok) return result
  const mistakes = result.mistakes.map((mistake) => {
    const isValue = mistake.field !== null && mistake.found === String(fields[mistake.field])
    const found = (isValue ? cells.get(mistake.field ?? '') : undefined) ?? mistake.found
    return { ...mistake, found, override: mistake.why === foreignFieldMistake ? 'ignore-columns' : mistake.override }
  })
  return { ok: false, mistakes }
}

function isHeaderAgain(cells: readonly string[], header: CsvHeader): boolean {
  const names = cells.map((cell) => cell.replace(/^\uFEFF/, ''))
  return names.length === header.cells.length && names.every((name, index) => name === header.cells[index])
}

/** Cells that no column name says the meaning of. */
function misplacedCells(cells: readonly string[], header: CsvHeader): readonly RequestMistake[] {
  const index = cells.findIndex((cell, at) => cell.trim() !== '' && (header.columns[at] ?? 'unnamed') === 'unnamed')
  if (index < 0) return []
  const why = 'has a value in a column without a name: is a separator in a text, without quotes around it?'
  return [toMistake(null, why, `column ${columnLetter(index)}: ${cells[index]}`)]
}

/** A mistake of a cell explains why its field is invalid, so the field's other mistakes are left out. */
function addMistakes(result: RequestParseResult | undefined, mistakes: readonly RequestMistake[]): RequestParseResult {
  if (result?.ok === true && mistakes.length === 0) return result
  const others = result === undefined || result.ok ? [] : result.mistakes
  const fields = mistakes.flatMap(({ field }) => field ?? [])
  return { ok: false, mistakes: [...mistakes, ...others.filter(({ field }) => !fields.includes(field ?? ''))] }
}

/**
 * A quote that opens a cell and is not closed takes in all rows up to the next quote: a customer would read them, and
 * nothing would be sent for them.
 */
/** A longer cell is a mistake anyway. */
const searchedLength = 2 * maxLengths.content

/** A line of a cell is a row if an id stands where the header has the column of an id. */
function swallowedRows(cells: readonly string[], header: CsvHeader, separator: string): readonly RequestMistake[] {
  const idColumns = header.columns.flatMap((column, index) =>
    isField(column) && column.field.endsWith('_id') ? [index] : [],
  )
  const isRow = (line: string) => {
    const inner = line.split(separator)
    return inner.length > 1 && idColumns.some((index) => idSchema.safeParse(inner[index]?.trim()).success)
  }
  const hasRow = (cell: string) => cell.includes('\n') && cell.slice(0, searchedLength).split('\n').slice(1).some(isRow)
  const index = cells.findIndex(hasRow)
  if (index < 0) return []
  const found = `column ${columnLetter(index)}: ${cells[index]}`
  return [
    toMistake(
      null,
      'has other rows in a cell: a quote (") opens the cell and is not closed before the next row',
      found,
    ),
  ]
}

export type ImportLine = {
  /** The number of its first physical line, from 1. */
  readonly line: number
  /** As a spreadsheet numbers it, where the header is row 1; of JSON Lines the line. */
  readonly row: number
  readonly result: RequestParseResult
  /** The row's own key, also if the row has mistakes. */
  readonly ref: string | null
  /** What the file has there. */
  readonly source: LineSource
}

type LineSource =
  | { readonly format: 'csv'; readonly header: CsvHeader; readonly cells: readonly string[] }
  | { readonly format: 'csv header'; readonly cells: readonly string[] }
  | { readonly format: 'jsonl'; readonly text: string }

/** Parses physical lines one after another, and returns a row when one is complete. */
export type LineParser = {
  readonly parseLine: (line: TextLine) => ImportLine | null
  /** A quote has been open for so long that what follows means nothing. */
  readonly isLost: () => boolean
  /** The row that is still open at the end of the file. */
  readonly end: () => ImportLine | null
}
