/** Converts the cells of a CSV row to the fields of a request, as a JSON line has them. */
import type { commonFields, PayloadField } from '../../core/outbox/request-fields.ts'
import { type RequestMistake, toMistake } from '../../core/outbox/request-mistake.ts'
import { isOperation, operationTypes } from '../../core/outbox/writeback-request.ts'
import { payloadFields } from './column-names.ts'
import { fromCsvCell } from './csv-cells.ts'
import { type CsvHeader, isField } from './csv-header.ts'
import { parseFlag } from './flag-words.ts'
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
