/** Parses an import file, JSON Lines or CSV: a request, or its mistakes, from each row. */

import { maxLengths } from '../../schema/operation-specs.ts'
import { requestFields } from '../outbox/core/operations.ts'
import {
  foreignFieldMistake,
  isTargetId,
  mistakeText,
  parseRequest,
  type RequestMistake,
  type RequestParseResult,
  toMistake,
} from '../outbox/core/writeback-request.ts'
import { cleanKey } from '../values/invisible.ts'
import { asJsonObject, tryParseJson } from '../values/json.ts'
import { columnLetter } from './csv-header-words.ts'
import { type CsvRecord, readRecords, readTextLines, type TextLine } from './csv-records.ts'
import {
  type CsvHeader,
  type HeaderOptions,
  isBlankRow,
  namesColumns,
  parseHeader,
  type RowFields,
  toRowFields,
} from './csv-values.ts'
import type { CsvSeparator, FileForm } from './file-form.ts'
import { type FillReply, withFilledReply } from './fill-reply.ts'
import {
  type CellValues,
  isExplanation,
  type SheetOptions,
  toSheetRequests,
} from './reply-sheet.ts'
import { withTextMistakes } from './spreadsheet-damage.ts'

export type ImportLine = {
  /** The number of its first physical line, from 1. */
  readonly line: number
  /** As a spreadsheet numbers it, where the header is row 1; of JSON Lines the line. */
  readonly row: number
  readonly result: RequestParseResult
  /** The row's own key, also if the row has mistakes. */
  readonly ref: string | null
  /** How its conversation was found, if not by an id. */
  readonly foundBy?: string
  /** What the file has there. */
  readonly source:
    | { readonly format: 'csv'; readonly header: CsvHeader; readonly cells: readonly string[] }
    | { readonly format: 'csv header'; readonly cells: readonly string[] }
    | { readonly format: 'jsonl'; readonly text: string }
}

export type LineOptions = HeaderOptions &
  SheetOptions & {
    /** Without it, the project has no texts. */
    readonly fillReply?: FillReply
  }

/** Yields a line for each request or mistake. Skips blank rows and the CSV header. */
export async function* parseLines(
  bytes: AsyncIterable<Uint8Array>,
  form: FileForm,
  options: LineOptions = {},
): AsyncGenerator<ImportLine> {
  const lines = readTextLines(bytes, form)
  if (form.format === 'csv') {
    yield* parseCsv(readRecords(lines, form), form.separator, options)
    return
  }
  for await (const line of lines)
    if (line.mistake !== null || line.text.trim() !== '') yield parseJsonLine(line, options)
}

function parseJsonLine({ line, text, mistake }: TextLine, options: LineOptions): ImportLine {
  const value = mistake === null ? tryParseJson(text) : undefined
  const object = asJsonObject(value)
  const ref = object?.ref
  const result: RequestParseResult =
    value === undefined
      ? { ok: false, mistakes: [mistake ?? toMistake(null, notJson(text))] }
      : withTextMistakes(object === null ? parseRequest(value) : parseFilled(object, options))
  const key = typeof ref === 'string' ? cleanKey(ref) : null
  return { line, row: line, result, ref: key, source: { format: 'jsonl', text } }
}

/** `parse` gets the fields with the sender, and the words of the text that they name. */
function parseFilled(
  given: Readonly<Record<string, unknown>>,
  { fillReply, senderName }: Pick<LineOptions, 'fillReply' | 'senderName'>,
  parse: (fields: Readonly<Record<string, unknown>>) => RequestParseResult = parseRequest,
): RequestParseResult {
  const isUnsigned = given.operation === 'message' && given.sender_name == null
  const fields =
    isUnsigned && senderName !== undefined ? { ...given, sender_name: senderName } : given
  const { fields: filled, mistake } = withFilledReply(fields, fillReply)
  return mistake === null ? parse(filled) : { ok: false, mistakes: [mistake] }
}

function notJson(text: string): string {
  const isArray = text.trim().startsWith('[')
  return isArray
    ? 'is a JSON array; write one object a line, for example with: jq -c ".[]"'
    : 'is not JSON'
}

/** Rows of titles above the header are common; more are not searched. */
const maxTitleRows = 10

/**
 * An invalid header is reported as the file's only mistake, as the rows below cannot be
 * interpreted.
 */
async function* parseCsv(
  records: AsyncIterable<CsvRecord>,
  separator: CsvSeparator,
  options: LineOptions,
): AsyncGenerator<ImportLine> {
  let header: CsvHeader | null = null
  let rejected: ImportLine | null = null
  for await (const record of records) {
    const { line, row, cells, mistake } = record
    // Spreadsheets write a row of separators for a row that was cleared.
    if (mistake === null && cells.every((cell) => cell.trim() === '')) continue
    if (header !== null) {
      if (mistake !== null || !holdsNothing(cells, header))
        yield* toImportLines(record, header, separator, options)
      continue
    }
    if (rejected === null) {
      const result =
        mistake === null ? parseHeader(cells, options) : { ok: false as const, mistakes: [mistake] }
      if (result.ok) header = result.header
      else rejected = { line, row, result, ref: null, source: { format: 'csv header', cells } }
      if (!result.ok && (mistake !== null || namesColumns(cells))) break
      continue
    }
    // A later row may still explain why.
    if (row > rejected.row + maxTitleRows) break
    if (!namesColumns(cells)) continue
    const why = `does not name the columns, but row ${row} does: delete the rows above that`
    rejected = { ...rejected, result: { ok: false, mistakes: [toMistake(null, why)] } }
    break
  }
  if (rejected !== null) yield rejected
}

/** Nothing to do: cleared checkboxes, or the header again, as in files that were joined. */
function holdsNothing(cells: readonly string[], header: CsvHeader): boolean {
  const isHeaderAgain =
    cells.length === header.cells.length &&
    cells.every((cell, index) => cell.replace(/^\uFEFF/, '') === header.cells[index])
  return isHeaderAgain || isBlankRow(cells, header) || (header.isSheet && isExplanation(cells))
}

function* toImportLines(
  record: CsvRecord,
  header: CsvHeader,
  separator: CsvSeparator,
  options: LineOptions,
): Generator<ImportLine> {
  const { line, row, cells, mistake } = record
  const rowFields = toRowFields(cells, header)
  const { ref } = rowFields.fields
  const place = {
    line,
    row,
    ref: typeof ref === 'string' ? ref : null,
    source: { format: 'csv', header, cells },
  } as const
  const misplaced = [
    ...(mistake === null ? misplacedCells(cells, header) : [mistake]),
    ...swallowedRows(cells, header, separator),
  ]
  const mistakes = [...misplaced, ...rowFields.mistakes]
  const parse = (fields: CellValues) =>
    mistake === null
      ? withTextMistakes(
          parseFilled(fields, options, (filled) => parseFields(filled, rowFields.cells)),
        )
      : undefined
  if (!header.isSheet) {
    yield { ...place, result: addMistakes(parse(rowFields.fields), mistakes) }
    return
  }
  const sheet = toSheetRequests(rowFields.fields, options)
  if (sheet.requests.length === 0 && misplaced.length === 0) return options.onEmptyRow?.()
  const results = sheet.requests.map((fields) => ({
    ref: fields.ref ?? null,
    result: addMistakes(parse(fields), [...mistakes, ...sheet.mistakes]),
  }))
  const wrong = results.flatMap(({ result }) => (result.ok ? [] : result.mistakes))
  const foundBy = sheet.foundBy === null ? {} : { foundBy: sheet.foundBy }
  // A row is corrected as a whole, so all of it has mistakes or none.
  const all = new Map([...wrong, ...mistakes].map((found) => [mistakeText(found), found]))
  if (all.size > 0) yield { ...place, result: { ok: false, mistakes: [...all.values()] } }
  else for (const { ref, result } of results) yield { ...place, ...foundBy, ref, result }
}

/** Mistakes show the cells as a person sees them: `WAHR` instead of true. */
function parseFields(
  fields: Readonly<Record<string, unknown>>,
  cells: RowFields['cells'],
): RequestParseResult {
  const result = parseRequest(fields)
  if (result.ok) return result
  const mistakes = result.mistakes.map((mistake) => {
    const isFlag =
      requestFields.get(mistake.field ?? '')?.kind === 'flag' && mistake.why !== foreignFieldMistake
    const isValue = mistake.field !== null && mistake.found === String(fields[mistake.field])
    const found = (isValue ? cells.get(mistake.field ?? '') : undefined) ?? mistake.found
    return {
      ...mistake,
      found,
      // In a table.
      why: isFlag && fields[mistake.field ?? ''] !== undefined ? 'must be yes or no' : mistake.why,
      override: mistake.why === foreignFieldMistake ? 'ignore-columns' : mistake.override,
    }
  })
  return { ok: false, mistakes }
}

/** Cells that no column name says the meaning of. */
function misplacedCells(cells: readonly string[], header: CsvHeader): readonly RequestMistake[] {
  const index = cells.findIndex((cell, at) => cell.trim() !== '' && header.fields[at] === undefined)
  if (index < 0) return []
  const why =
    'has a value in a column without a name: is a separator in a text, without quotes around it?'
  return [toMistake(null, why, `column ${columnLetter(index)}: ${cells[index]}`)]
}

/**
 * A mistake of a cell explains why its field is invalid, so the field's other mistakes are left
 * out.
 */
function addMistakes(
  result: RequestParseResult | undefined,
  mistakes: readonly RequestMistake[],
): RequestParseResult {
  if (result?.ok === true && mistakes.length === 0) return result
  const others = result === undefined || result.ok ? [] : result.mistakes
  const fields = mistakes.flatMap(({ field }) => field ?? [])
  return {
    ok: false,
    mistakes: [...mistakes, ...others.filter(({ field }) => !fields.includes(field ?? ''))],
  }
}

/** A longer cell is a mistake anyway. */
const searchedLength = 2 * maxLengths.content

/**
 * A quote that opens a cell and is not closed takes in all rows up to the next quote: a customer
 * would read them, and nothing would be sent for them. A line of a cell is a row if an id stands
 * where the header has the column of an id.
 */
function swallowedRows(
  cells: readonly string[],
  header: CsvHeader,
  separator: CsvSeparator,
): readonly RequestMistake[] {
  const idColumns = header.fields.flatMap((field, index) => (field?.endsWith('_id') ? [index] : []))
  const isRow = (line: string) => {
    const inner = line.split(separator)
    return inner.length > 1 && idColumns.some((index) => isTargetId(inner[index]?.trim()))
  }
  const hasRow = (cell: string) =>
    cell.includes('\n') && cell.slice(0, searchedLength).split('\n').slice(1).some(isRow)
  const index = cells.findIndex(hasRow)
  if (index < 0) return []
  const why =
    'has other rows in a cell: a quote (") opens the cell and is not closed before the next row'
  return [toMistake(null, why, `column ${columnLetter(index)}: ${cells[index]}`)]
}
