/** The columns of CSV files: parses the header of an import, and converts cells to request fields and back. */
import { byteOrderMark, toCsvLine } from '../../core/csv.ts'
import { commonFields } from '../../core/outbox/request-fields.ts'
import { operationTypes, targetKinds, type WritebackRequest } from '../../core/outbox/writeback-request.ts'
import { fromCsvCell, toCsvCell } from './csv-cells.ts'
import { type CsvSeparator, csvSeparators } from './csv-records.ts'

const payloadFields = new Map(Object.values(operationTypes).flatMap(({ fields }) => Object.entries(fields)))

/** The columns that a person fills in: the fields of a JSON line. */
export const requestColumns: readonly string[] = [
  'operation',
  ...targetKinds.map((kind) => `${kind}_id`),
  ...payloadFields.keys(),
  ...Object.keys(commonFields),
]

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
type OutcomeColumn = (typeof outcomeColumns)[number]

/** The column of each cell; null for cells that are ignored. */
export type CsvHeader = readonly (string | null)[]

/** The separator that is most frequent in the header; some locales use semicolons or tabs. */
export function detectSeparator(headerLine: string): CsvSeparator {
  const counts = csvSeparators.map((separator) => headerLine.split(separator).length)
  return csvSeparators[counts.indexOf(Math.max(...counts))] ?? ','
}

/** Parses the header, or returns its mistakes. Column names may be in any order and case, with spaces around them. */
export function parseHeader(cells: readonly string[]): CsvHeader | { readonly why: readonly string[] } {
  const names = cells.map((cell) => cell.trim().toLowerCase())
  const unknown = names.filter((name) => name !== '' && !requestColumns.includes(name) && !isOutcomeColumn(name))
  const repeated = names.filter((name, index) => requestColumns.includes(name) && names.indexOf(name) !== index)
  const why = [
    ...unknown.map((name) => `${quoteName(name)}: unknown column; the columns are ${requestColumns.join(', ')}`),
    ...repeated.map((name) => `${name}: appears twice`),
    ...(names.includes('operation') ? [] : ['operation: column is missing; the first line must name the columns']),
  ]
  return why.length > 0 ? { why } : names.map((name) => (requestColumns.includes(name) ? name : null))
}

type RequestFields = Readonly<Record<string, string | boolean | null>>

/** The record's fields, as in a JSON line. Empty cells are left out. */
export function toRequestFields(cells: readonly string[], header: CsvHeader): RequestFields {
  const fields = cells.flatMap((cell, index) => {
    const column = header[index] ?? null
    return column === null || cell === '' ? [] : [[column, parseCell(column, cell)] as const]
  })
  return Object.fromEntries(fields)
}

/** Outer spaces are part of a text; elsewhere they have no meaning. */
function parseCell(column: string, cell: string): string | boolean | null {
  const kind = column === 'ref' ? 'text' : payloadFields.get(column)?.kind
  const value = fromCsvCell(kind === 'text' ? cell : cell.trim())
  return kind === 'flag' && value !== null ? (parseFlag(value) ?? value) : value
}

/** Undefined if it is neither true nor false. */
export function parseFlag(text: string): boolean | undefined {
  const word = text.toLowerCase()
  if (['true', 'yes', '1'].includes(word)) return true
  return ['false', 'no', '0'].includes(word) ? false : undefined
}

function isOutcomeColumn(name: string): boolean {
  return outcomeColumns.some((column) => column === name)
}

/** Shortened, as the first line of a file that is not CSV can contain anything. */
function quoteName(name: string): string {
  return JSON.stringify(name.length > 60 ? `${name.slice(0, 60)}…` : name)
}

/** The outcome of a write-back, by column name of the table `writebacks`. */
type OutcomeCells = { readonly [C in OutcomeColumn]?: string | number | null }

export const csvHeader = `${byteOrderMark}${toCsvLine([...outcomeColumns, ...requestColumns])}`

/** One line below `csvHeader`. Importing it gives the same request. */
export function toCsvRow(outcome: OutcomeCells, request: WritebackRequest): string {
  const requestCells = toRequestCells(request)
  return toCsvLine([
    // In an outcome, null means no value (an empty cell); in a request, null clears a field.
    ...outcomeColumns.map((column) => toCsvCell(outcome[column] ?? '')),
    ...requestColumns.map((column) => toCsvCell(requestCells[column] === undefined ? '' : requestCells[column])),
  ])
}

function toRequestCells({ operation, target, payload, ref, expect, expiresAt }: WritebackRequest): RequestFields {
  const common = { ref: ref ?? '', expect: expect ?? '', expires_at: expiresAt ?? '' }
  return { operation, [`${operationTypes[operation].target}_id`]: target, ...payload, ...common }
}
