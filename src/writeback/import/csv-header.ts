/** Parses the first row of a CSV import, which names the columns. */
import { nearestNames } from '../../core/nearest-names.ts'
import { type RequestMistake, toMistake } from '../../core/outbox/request-mistake.ts'
import { columnLetter, isRequestColumn, knownColumn, requestColumns, toColumnKey } from './column-names.ts'

/** Columns without meaning for the import: those named here, or all that it does not know. */
export type IgnoredColumns = readonly string[] | 'all'

export type CsvHeader = {
  /** The cells of the first row as they are. */
  readonly cells: readonly string[]
  /** The field of each column. `ignored`: its cells have no meaning here; `unnamed`: it must be empty. */
  readonly columns: readonly (HeaderColumn | 'ignored' | 'unnamed')[]
  /** The unknown columns that were let through. */
  readonly ignored: readonly string[]
}

export type HeaderColumn = { readonly field: string }

export type HeaderResult =
  | { readonly ok: true; readonly header: CsvHeader }
  | { readonly ok: false; readonly mistakes: readonly RequestMistake[] }

/** Each row costs time for each column, so a hostile file must not have millions. */
const maxColumns = 1_000

/** Column names may be in any order and case, with or without spaces. */
export function parseHeader(cells: readonly string[], ignore: IgnoredColumns = []): HeaderResult {
  if (cells.length > maxColumns) return { ok: false, mistakes: [toMistake(null, 'has more than 1000 columns')] }
  if (!namesColumns(cells)) return { ok: false, mistakes: [toMistake(null, noHeader, cells.join(', '))] }
  const columns = cells.map((cell) => toColumn(cell, ignore))
  const mistakes = [
    ...cells.flatMap((cell, index) => (columns[index] === 'unknown' ? [unknownColumn(cell, index)] : [])),
    ...repeatedColumns(columns),
    ...(columns.some((column) => isField(column) && column.field === 'operation') ? [] : [missingOperation]),
  ]
  const known = columns.filter((column) => column !== 'unknown')
  if (mistakes.length > 0 || known.length < columns.length) return { ok: false, mistakes }
  const ignored = cells.filter(
    (cell, index) => known[index] === 'ignored' && toColumnKey(cell) !== '' && !isOwnColumn(cell),
  )
  return { ok: true, header: { cells, columns: known, ignored: ignored.map(toColumnTitle) } }
}

/** Whether at least one cell is the name of a column. Otherwise the row holds something else. */
export function namesColumns(cells: readonly string[]): boolean {
  return cells.some((cell) => knownColumn(cell) !== undefined)
}

const noHeader = `does not name the columns; the first row must have names like ${requestColumns.slice(0, 4).join(', ')}`

const missingOperation = toMistake('operation', 'column is missing; the first row must name the columns')

function toColumn(cell: string, ignore: IgnoredColumns): HeaderColumn | 'ignored' | 'unnamed' | 'unknown' {
  const [field, key] = [knownColumn(cell), toColumnKey(cell)]
  if (ignore !== 'all' && key !== '' && ignore.some((name) => toColumnKey(name) === key)) return 'ignored'
  if (isRequestColumn(field)) return { field }
  if (field !== undefined || ignore === 'all') return 'ignored'
  return key === '' ? 'unnamed' : 'unknown'
}

/** Exports and files of mistakes have such columns, and their import needs no word about them. */
function isOwnColumn(cell: string): boolean {
  const column = knownColumn(cell)
  return column !== undefined && !isRequestColumn(column)
}

export function isField(column: unknown): column is HeaderColumn {
  return typeof column === 'object'
}

function unknownColumn(cell: string, index: number): RequestMistake {
  const near = nearestNames(toColumnTitle(cell).replaceAll(' ', '_'), requestColumns)
  const hint = near.length === 0 ? '' : `; did you mean ${near.join(' or ')}?`
  return toMistake(toColumnTitle(cell), `unknown column${hint}`, `column ${columnLetter(index)}`, 'ignore-columns')
}

function repeatedColumns(columns: readonly unknown[]): readonly RequestMistake[] {
  const fields = columns.flatMap((column, index) => (isField(column) ? [{ field: column.field, index }] : []))
  return [...Map.groupBy(fields, ({ field }) => field)].flatMap(([field, places]) =>
    places.length < 2
      ? []
      : [toMistake(field, 'appears twice', `columns ${places.map(({ index }) => columnLetter(index)).join(' and ')}`)],
  )
}

/** On one line, and shortened: the first row of a file that is not CSV can contain anything. */
function toColumnTitle(cell: string): string {
  const title = cell.replace(/\s+/g, ' ').trim()
  return title.length > 60 ? `${title.slice(0, 60)}…` : title
}
