/** The columns of a CSV import: parses the header and converts cells to request fields. */
import { fromCsvCell } from './csv-cells.ts'
import { type CsvSeparator, csvSeparators } from './csv-records.ts'

/** The columns that a person fills in: the fields of a JSON line. */
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

/** The columns that an export adds. Imports ignore them, so a corrected export can be imported again. */
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

/** The column of each cell; null for cells that are ignored. */
export type CsvHeader = readonly (RequestColumn | null)[]

/** The separator that is most frequent in the header; some locales use semicolons or tabs. */
export function detectSeparator(headerLine: string): CsvSeparator {
  const counts = csvSeparators.map((separator) => headerLine.split(separator).length)
  return csvSeparators[counts.indexOf(Math.max(...counts))] ?? ','
}

/** Parses the header, or returns its mistakes. Column names may be in any order and case, with spaces around them. */
export function parseHeader(cells: readonly string[]): CsvHeader | { readonly why: readonly string[] } {
  const names = cells.map((cell) => cell.trim().toLowerCase())
  const unknown = names.filter((name) => name !== '' && !isRequestColumn(name) && !isOutcomeColumn(name))
  const repeated = names.filter((name, index) => isRequestColumn(name) && names.indexOf(name) !== index)
  const why = [
    ...unknown.map((name) => `${quoteName(name)}: unknown column; the columns are ${requestColumns.join(', ')}`),
    ...repeated.map((name) => `${name}: appears twice`),
    ...(names.includes('operation') ? [] : ['operation: column is missing; the first line must name the columns']),
  ]
  return why.length > 0 ? { why } : names.map((name) => (isRequestColumn(name) ? name : null))
}

/** The record's fields, as in a JSON line. Empty cells are left out. */
export function toRequestFields(
  cells: readonly string[],
  header: CsvHeader,
): Readonly<Record<string, string | boolean | null>> {
  const fields = cells.flatMap((cell, index) => {
    const column = header[index] ?? null
    return column === null || cell === '' ? [] : [[column, parseCell(column, cell)] as const]
  })
  return Object.fromEntries(fields)
}

/** In these columns, outer spaces have no meaning; in the others they are part of the text. */
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

/** Shortened, as the first line of a file that is not CSV can contain anything. */
function quoteName(name: string): string {
  return JSON.stringify(name.length > 60 ? `${name.slice(0, 60)}…` : name)
}
