/**
 * The header of a CSV file, and the fields of a request in the cells below it, as a JSON line has
 * them.
 */

import { restoreWithin } from '../export/writers/csv-writer.ts'
import { isOperation, operationTypes, requestFields } from '../outbox/core/operations.ts'
import { isTargetId, type RequestMistake, toMistake } from '../outbox/core/writeback-request.ts'
import type { ColumnMap } from '../outbox/outbox.ts'
import { cleanKey } from '../values/invisible.ts'
import { nearestNames } from '../values/nearest-names.ts'
import { fromCsvCell, parseFlag } from './csv-cells.ts'
import {
  columnLetter,
  columnOfWord,
  guessedWords,
  isOwnHeader,
  isRequestColumn,
  knownColumn,
  namedColumn,
  requestColumns,
  templateColumn,
  toColumnKey,
  visitorColumns,
} from './csv-header-words.ts'
import { type CellValues, isSheetColumn, isSheetOfReplies, sheetColumns } from './reply-sheet.ts'
import { isFormulaError, isNoValue, isShortenedNumber } from './spreadsheet-damage.ts'

export type RowFields = {
  readonly fields: CellValues
  /** The cells of these fields, as a person sees them. */
  readonly cells: ReadonlyMap<string, string>
  /** Of cells that have no value of their column. Their fields have the text of the cell. */
  readonly mistakes: readonly RequestMistake[]
}

/** Empty cells are left out; `null` clears a field. */
export function toRowFields(cells: readonly string[], header: CsvHeader): RowFields {
  const filled = cells.flatMap((cell, index) => {
    const field = header.fields[index]
    return field != null && cell.trim() !== '' ? [{ field, cell }] : []
  })
  const fields = Object.fromEntries(
    filled.map(({ field, cell }) => {
      const isRestored = header.isOwn || visitorColumns.some((column) => column === field)
      return [field, parseCell(field, isRestored ? restoreWithin(cell) : cell)] as const
    }),
  )
  return {
    fields: withoutClearedCheckboxes(fields),
    cells: new Map(filled.map(({ field, cell }) => [field, cell.trim()])),
    mistakes: filled.flatMap(({ field, cell }) => cellMistakes(field, cell)),
  }
}

/** Nothing but cleared checkboxes: a spreadsheet fills a column of them down to its last row. */
export function isBlankRow(cells: readonly string[], header: CsvHeader): boolean {
  return cells.every((cell, index) => {
    const field = header.fields[index]
    const isFlag = field != null && kindOf(field) === 'flag'
    return cell.trim() === '' || (isFlag && parseFlag(cell) === false)
  })
}

/** A column of checkboxes has `false` in the rows of other operations, too. */
function withoutClearedCheckboxes(fields: CellValues): CellValues {
  const { operation } = fields
  if (!isOperation(operation)) return fields
  const isForeign = (field: string) =>
    kindOf(field) === 'flag' && !(field in operationTypes[operation].fields)
  return Object.fromEntries(
    Object.entries(fields).filter(([field, value]) => value !== false || !isForeign(field)),
  )
}

function kindOf(field: string) {
  if ([...visitorColumns, templateColumn].some((column) => column === field)) return 'line'
  return field === 'operation' ? 'word' : (requestFields.get(field)?.kind ?? 'id')
}

function parseCell(field: string, cell: string): CellValues[string] {
  const kind = kindOf(field)
  // A text is used exactly as it was written, with its outer spaces.
  if (kind === 'text') return fromCsvCell(cell)
  if (kind === 'line') return fromCsvCell(cell)?.trim() ?? null
  const value = fromCsvCell(cleanKey(cell))
  if (kind === 'key' || value === null || value.length > maxShortLength) return value
  if (kind === 'flag') return parseFlag(value) ?? value
  if (kind === 'word') return value.toLowerCase()
  if (kind === 'time') return toStandardTime(value)
  return kind === 'id' ? toId(value) : toStandardTime(toId(value))
}

/** Longer than any id or time. */
const maxShortLength = 100

function cellMistakes(field: string, cell: string): readonly RequestMistake[] {
  const kind = kindOf(field)
  if (isFormulaError(cell)) return [toMistake(field, 'is the error of a formula', cell)]
  if (isNoValue(cell)) return [toMistake(field, noValue, cell)]
  const isKey = kind === 'id' || kind === 'message' || kind === 'key'
  return isKey && isShortenedNumber(cell) ? [toMistake(field, shortenedNumber, cell)] : []
}

const noValue =
  'is how a program writes that there is no value; leave the cell ' +
  'empty, or write null to clear the field'

const shortenedNumber =
  'is a number that a spreadsheet has shortened, and its last digits are lost; format the ' +
  'column as text before you paste the values'

/**
 * Spaces and quotes stand around ids. Word processors replace hyphens and quotes; `="…"` keeps a
 * spreadsheet from changing it; `7.0` is how pandas writes 7.
 */
function toId(text: string): string {
  let end = text.length
  // An expression that is anchored at the end only would take quadratic time.
  while (end > 0 && /[\s"'}‘’“”„«»]/.test(text.charAt(end - 1))) end -= 1
  const bare = text.slice(0, end).replace(/^[\s"'{‘’“”„«»=]+/, '')
  return /^\d{1,15}\.0$/.test(bare) ? bare.slice(0, -2) : bare.replace(/[‐‑‒–—−]/g, '-')
}

/** SQL databases write a space, and leave out the minutes of a whole zone. */
function toStandardTime(text: string): string {
  return text
    .replace(/^(\d{4}-\d\d-\d\d) +(\d)/, '$1T$2')
    .replace(/([+-]\d\d)$/, (zone, _, at) => (at > 15 ? `${zone}:00` : zone))
}

export type HeaderOptions = {
  /** Columns without meaning for the import: those named here, or all that it does not know. */
  readonly ignoreColumns?: readonly string[] | 'all'
  readonly columns?: ColumnMap
  /** Headers that a person named in either: the file must have them. */
  readonly namedHeaders?: readonly string[]
}

export type CsvHeader = {
  /** The cells of the first row as they are. */
  readonly cells: readonly string[]
  /** Of each column. Null: its cells have no meaning here; undefined: they must be empty. */
  readonly fields: readonly (string | null | undefined)[]
  /** The unknown columns that were let through. */
  readonly ignored: readonly string[]
  /** Its rows name no operation: see `reply-sheet.ts`. */
  readonly isSheet: boolean
  /** This program has written the file. */
  readonly isOwn: boolean
}

/** Each row costs time for each column, so a hostile file must not have millions. */
const maxColumns = 1_000

/**
 * What each cell means; undefined: nobody has said it. `likely`: also where other columns are not
 * known yet.
 */
export function readColumns(cells: readonly string[], columns: ColumnMap = {}) {
  const said = cells.map((cell) =>
    Object.hasOwn(columns, toColumnKey(cell)) ? columns[toColumnKey(cell)] : undefined,
  )
  const named = cells.map((cell, index) => said[index] ?? namedColumn(cell))
  // A column of the very name leaves others nothing to mean by it.
  const inSheet = cells.map((cell, index) => {
    const word = columnOfWord(toColumnKey(cell))
    return said[index] ?? (word === undefined || named.includes(word) ? named[index] : word)
  })
  const likely = named.includes('operation') ? named : inSheet
  const isSheet = likely === inSheet && isSheetOfReplies(inSheet)
  return { isSheet, meant: isSheet ? inSheet : named, likely }
}

/** Column names may be in any order and case, with or without spaces. */
export function parseHeader(
  cells: readonly string[],
  { ignoreColumns: ignore = [], columns: map = {} }: HeaderOptions = {},
): { ok: true; header: CsvHeader } | { ok: false; mistakes: readonly RequestMistake[] } {
  if (cells.length > maxColumns)
    return { ok: false, mistakes: [toMistake(null, 'has more than 1000 columns')] }
  const { meant, isSheet } = readColumns(cells, map)
  const isUnknown = meant.every((column) => column === undefined)
  const isRow = cells.some((cell) => isTargetId(cell.trim()) || cell.includes('@'))
  if (isUnknown && (isRow || cells.every((cell) => nearColumns(cell, meant).length === 0)))
    return { ok: false, mistakes: [toMistake(null, noHeader, cells.join(', '))] }
  const isRead = isSheet ? isSheetColumn : isRequestColumn
  const fields: CsvHeader['fields'][number][] = []
  const ignored: string[] = []
  const mistakes: RequestMistake[] = []
  for (const [index, cell] of cells.entries()) {
    const known = meant[index]
    const key = toColumnKey(cell)
    const isListed =
      ignore !== 'all' && key !== '' && ignore.some((name) => toColumnKey(name) === key)
    // Exports, sheets and files of mistakes have columns of their own, and their import needs no
    // word about them.
    const isOwn = known !== undefined && known !== 'ignored' && !isRequestColumn(known)
    if (isRead(known) && !isListed) fields.push(known)
    else if (isListed || isOwn || known === 'ignored' || ignore === 'all') fields.push(null)
    else fields.push(undefined)
    if (fields[index] === null && key !== '' && !isOwn) ignored.push(toColumnTitle(cell))
    if (fields[index] === undefined && key !== '') mistakes.push(unknownColumn(cell, index, meant))
  }
  mistakes.push(...repeatedColumns(fields))
  if (!isSheet && !fields.includes('operation')) mistakes.push(missingOperation)
  if (mistakes.length > 0) return { ok: false, mistakes }
  return { ok: true, header: { cells, fields, ignored, isSheet, isOwn: isOwnHeader(cells) } }
}

/** Whether at least one cell is the name of a column. Otherwise the row holds something else. */
export function namesColumns(cells: readonly string[]): boolean {
  return cells.some((cell) => knownColumn(cell) !== undefined)
}

const noHeader =
  'does not name the columns; the first row must have names like ' +
  `${requestColumns.slice(0, 4).join(', ')}`

const missingOperation = toMistake(
  'operation',
  'column is missing; replies need none if the columns conversation_id and content are there',
)

const sheetNames = ['operation', ...Object.keys(sheetColumns)]

/** What a header may be mistyped for: in a sheet of replies, also another word of a column. */
function nearColumns(cell: string, meant: readonly (string | undefined)[]): readonly string[] {
  const title = toColumnTitle(cell).replaceAll(' ', '_')
  if (meant.includes('operation')) return nearestNames(title, requestColumns)
  const near = nearestNames(title, [...sheetNames, ...guessedWords.keys()])
  return [...new Set(near.map((name) => guessedWords.get(name) ?? name))]
}

function unknownColumn(
  cell: string,
  index: number,
  meant: readonly (string | undefined)[],
): RequestMistake {
  const near = nearColumns(cell, meant)
  const hint = near.length === 0 ? '' : `; did you mean ${near.join(' or ')}?`
  return toMistake(
    toColumnTitle(cell),
    `unknown column${hint}`,
    `column ${columnLetter(index)}`,
    'ignore-columns',
  )
}

function repeatedColumns(fields: CsvHeader['fields']): readonly RequestMistake[] {
  const places = Map.groupBy(fields.keys(), (index) => fields[index])
  return [...places].flatMap(([field, [first = 0, ...others]]) => {
    if (field == null || others.length === 0) return []
    const letters = [first, ...others].map(columnLetter)
    return [toMistake(field, 'appears twice', `columns ${letters.join(' and ')}`)]
  })
}

/** On one line, and shortened: the first row of a file that is not CSV can contain anything. */
function toColumnTitle(cell: string): string {
  const title = cell.replace(/\s+/g, ' ').trim()
  return title.length > 60 ? `${title.slice(0, 60)}…` : title
}
