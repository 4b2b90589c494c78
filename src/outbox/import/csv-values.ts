/** The header of a CSV file, and the fields of a request in the cells below it, as a JSON line has them. */
import { nearestNames } from '../../values/nearest-names.ts'
import type { commonFields, PayloadField } from '../core/request-fields.ts'
import { type RequestMistake, toMistake } from '../core/request-mistake.ts'
import { isOperation, operationTypes } from '../core/writeback-request.ts'
import {
  columnLetter,
  fromCsvCell,
  isRequestColumn,
  knownColumn,
  payloadFields,
  requestColumns,
  toColumnKey,
} from './csv-columns.ts'
import { isFormulaError, isNoValue, isShortenedNumber } from './spreadsheet-damage.ts'

type FieldValue = string | boolean | null

export type RowFields = {
  readonly fields: Readonly<Record<string, FieldValue>>
  /** The cells of these fields, as a person sees them. */
  readonly cells: ReadonlyMap<string, string>
  /** Of cells that have no value of their column. Their fields have the text of the cell. */
  readonly mistakes: readonly RequestMistake[]
}

/** Empty cells are left out; `null` clears a field. */
export function toRowFields(cells: readonly string[], header: CsvHeader): RowFields {
  const filled = cells.flatMap((cell, index) => {
    const column = header.columns[index]
    return isField(column) && cell.trim() !== '' ? [{ field: column.field, cell }] : []
  })
  const fields = Object.fromEntries(filled.map(({ field, cell }) => [field, parseCell(field, cell)] as const))
  return {
    fields: withoutClearedCheckboxes(fields),
    cells: new Map(filled.map(({ field, cell }) => [field, cell.trim()])),
    mistakes: filled.flatMap(({ field, cell }) => cellMistakes(field, cell)),
  }
}

/** Nothing but cleared checkboxes: a spreadsheet fills a column of them down to its last row. */
export function isBlankRow(cells: readonly string[], header: CsvHeader): boolean {
  return cells.every((cell, index) => {
    const column = header.columns[index]
    return cell.trim() === '' || (isField(column) && kindOf(column.field) === 'flag' && parseFlag(cell) === false)
  })
}

/** A column of checkboxes has `false` in the rows of other operations, too. */
function withoutClearedCheckboxes(fields: Readonly<Record<string, FieldValue>>): RowFields['fields'] {
  const { operation } = fields
  if (!isOperation(operation)) return fields
  const isForeign = (field: string) => kindOf(field) === 'flag' && !(field in operationTypes[operation].fields)
  return Object.fromEntries(Object.entries(fields).filter(([field, value]) => value !== false || !isForeign(field)))
}

type ColumnKind = PayloadField['kind'] | 'key' | 'message' | 'time' | 'word'

const commonKinds: Readonly<Record<keyof typeof commonFields, ColumnKind>> = {
  ref: 'key',
  expect: 'message',
  expires_at: 'time',
}

function kindOf(field: string): ColumnKind {
  if (field === 'operation') return 'word'
  return commonKinds[field as keyof typeof commonFields] ?? payloadFields.get(field)?.kind ?? 'id'
}

function parseCell(field: string, cell: string): FieldValue {
  const kind = kindOf(field)
  // Texts and keys are used exactly as they were written, with their outer spaces.
  if (kind === 'text' || kind === 'key') return fromCsvCell(cell)
  if (kind === 'line') return fromCsvCell(cell)?.trim() ?? null
  const value = fromCsvCell(withoutInvisible(cell).trim())
  if (value === null || value.length > maxShortLength) return value
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

const noValue = 'is how a program writes that there is no value; leave the cell empty, or write null to clear the field'

const shortenedNumber =
  'is a number that a spreadsheet has shortened, and its last digits are lost; format the column as text before you paste the values'

/** Zero-width spaces, direction marks, byte order marks: pasted along with ids, and seen by no one. */
function withoutInvisible(text: string): string {
  return text.replace(/\p{Cf}/gu, '')
}

/** Word processors replace hyphens and quotes; `="…"` keeps a spreadsheet from changing it; `7.0` is how pandas writes 7. */
function toId(text: string): string {
  const bare = withoutQuotes(text.replace(/^="?|"$/g, ''))
  return /^\d{1,15}\.0$/.test(bare) ? bare.slice(0, -2) : bare.replace(/[‐‑‒–—−]/g, '-')
}

/** Spaces and quotes around an id. No expression, because those that look for the end of a text try every place in it. */
function withoutQuotes(text: string): string {
  let [from, to] = [0, text.length]
  while (from < to && /[\s"'{‘’“”„«»]/.test(text.charAt(from))) from += 1
  while (from < to && /[\s"'}‘’“”„«»]/.test(text.charAt(to - 1))) to -= 1
  return text.slice(from, to)
}

/** SQL databases write a space, and leave out the minutes of a whole zone. */
function toStandardTime(text: string): string {
  return text
    .replace(/^(\d{4}-\d\d-\d\d) +(\d)/, '$1T$2')
    .replace(/([+-]\d\d)$/, (zone, _, at) => (at > 15 ? `${zone}:00` : zone))
}

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

type HeaderColumn = { readonly field: string }

type HeaderResult =
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

/** How people and spreadsheets write true and false: a spreadsheet in the language of its user. */
const trueWords = `true yes y on x 1 1.0 ✓ ✔ ☑ ☒ ja j wahr oui vrai sí si verdadero vero sim verdadeiro waar tak prawda sant
  sand sann tosi pravda doğru igaz да истина правда はい 是`
const falseWords = `false no n off 0 0.0 ✗ ✘ ☐ nein falsch non faux falso nee onwaar nie fałsz falskt falsk usann epätosi
  nepravda yanlış hamis нет ложь неправда いいえ 否`

const flags: ReadonlyMap<string, boolean> = new Map([
  ...wordsOf(trueWords).map((word) => [word, true] as const),
  ...wordsOf(falseWords).map((word) => [word, false] as const),
])

/** Undefined if it is neither. */
export function parseFlag(text: string): boolean | undefined {
  return flags.get(text.trim().normalize().toLowerCase()) ?? flags.get(text.trim().normalize().toLocaleLowerCase('tr'))
}

function wordsOf(words: string): readonly string[] {
  return words.split(/\s+/)
}
