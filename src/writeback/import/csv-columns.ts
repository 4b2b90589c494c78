/** The columns of an import as CSV: whose they are by the header, and what their cells stand for. */
import { fromCsvCell } from './csv-cells.ts'
import { type CsvSeparator, csvSeparators } from './csv-records.ts'

/** What a person fills in: the fields of a JSON line. */
export const requestColumns = [
  'operation',
  'conversation_id',
  'visitor_id',
  'content',
  'sender_name',
  'handled',
  'name',
  'email',
  'ref',
  'expect',
  'expires_at',
] as const
export type RequestColumn = (typeof requestColumns)[number]

/** What we write beside it. Not read again, so that a corrected list of failures can be imported as it is. */
export const outcomeColumns = [
  'id',
  'project_id',
  'status',
  'error',
  'attempts',
  'batch_id',
  'created_at',
  'created_by',
  'sent_at',
  'finished_at',
  'request_id',
] as const
export type OutcomeColumn = (typeof outcomeColumns)[number]

/** A column for each cell; null: its cells are not read. */
export type CsvHeader = readonly (RequestColumn | null)[]

/** A comma, or what the spreadsheets of other countries write instead: whichever the header has most of. */
export function detectSeparator(headerLine: string): CsvSeparator {
  const counts = csvSeparators.map((separator) => headerLine.split(separator).length)
  return csvSeparators[counts.indexOf(Math.max(...counts))] ?? ','
}

/** The header, or what is wrong with it. Names may stand in any order, in capitals, and with spaces around them. */
export function parseHeader(cells: readonly string[]): CsvHeader | { readonly why: readonly string[] } {
  const names = cells.map((cell) => cell.trim().toLowerCase())
  const unknown = names.filter((name) => name !== '' && !isRequestColumn(name) && !isOutcomeColumn(name))
  const repeated = names.filter((name, index) => isRequestColumn(name) && names.indexOf(name) !== index)
  const why = [
    ...unknown.map((name) => `${quoteName(name)}: is no column of an import; those are ${requestColumns.join(', ')}`),
    ...repeated.map((name) => `${name}: is there twice`),
    ...(names.includes('operation') ? [] : ['operation: has no column; the first line must name the columns']),
  ]
  return why.length > 0 ? { why } : names.map((name) => (isRequestColumn(name) ? name : null))
}

/** The fields of a record as a line of JSON would have them. Empty cells are left out. */
export function toRequestFields(cells: readonly string[], header: CsvHeader): Readonly<Record<string, string | boolean | null>> {
  const fields = cells.flatMap((cell, index) => {
    const column = header[index] ?? null
    return column === null || cell === '' ? [] : [[column, parseCell(column, cell)] as const]
  })
  return Object.fromEntries(fields)
}

/** In these, spaces around a value say nothing; in the others they are part of the text. */
const trimmedColumns: ReadonlySet<RequestColumn> = new Set([
  ...(['operation', 'conversation_id', 'visitor_id', 'handled', 'expect', 'expires_at'] as const),
])

function parseCell(column: RequestColumn, cell: string): string | boolean | null {
  const value = fromCsvCell(trimmedColumns.has(column) ? cell.trim() : cell)
  return column === 'handled' && value !== null ? (booleanWords.get(value.toLowerCase()) ?? value) : value
}

const booleanWords: ReadonlyMap<string, boolean> = new Map([
  ...(['true', 'yes', '1'] as const).map((word) => [word, true] as const),
  ...(['false', 'no', '0'] as const).map((word) => [word, false] as const),
])

function isRequestColumn(name: string): name is RequestColumn {
  return requestColumns.some((column) => column === name)
}

function isOutcomeColumn(name: string): name is OutcomeColumn {
  return outcomeColumns.some((column) => column === name)
}

/** A file that is no CSV at all has anything in its first line. */
function quoteName(name: string): string {
  return JSON.stringify(name.length > 60 ? `${name.slice(0, 60)}…` : name)
}
