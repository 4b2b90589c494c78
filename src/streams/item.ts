/** Items of the API → rows of the mirror. Documented fields become columns; other fields are passed on by their paths. */
import { hash } from 'node:crypto'
import { maxDepth } from '../core/field-path.ts'
import { asJsonObject, type JsonObject, stringifyJson } from '../core/json.ts'
import type { RowTimes } from '../core/pagination/sort-order.ts'
import type { ExtraField, Json, MirrorRow, Scalar } from '../core/row.ts'
import { isNormalizedTime, parseTime, rfc3339 } from '../core/time.ts'

/** The type of a documented field. A value of another type becomes JSON text in a text column and null in any other. */
export type ColumnKind = 'text' | 'integer' | 'boolean' | 'time'

/** The documented fields of a stream in the service's spelling, with their columns. */
export type DocumentedFields = Readonly<Record<string, readonly [column: string, kind: ColumnKind]>>

/** Fields with longer names are neither keys nor times. */
const maxNameLength = 200
/** Limits the work for rows with very many times. */
const maxTimes = 100

/** `own`: columns that override the item's fields, such as keys, the parent's key and the time of reading. */
export function toRow(item: JsonObject, documented: DocumentedFields, own: MirrorRow['columns'] = {}): MirrorRow {
  return { ...toColumns(item, documented, own), raw: stringifyJson(item) }
}

/** The row without its text. */
export function toColumns(
  item: JsonObject,
  documented: DocumentedFields,
  own: MirrorRow['columns'],
): Pick<MirrorRow, 'columns' | 'extraFields'> {
  const columns: Record<string, Scalar> = {}
  const extra = new Map<string, ExtraField>()
  for (const field in item) {
    const value = item[field] as Json
    const known = Object.hasOwn(documented, field) ? documented[field] : undefined
    if (known !== undefined) columns[known[0]] = toColumnValue(value, known[1])
    else if (field !== 'projectId') collectExtraFields(field, value, extra, 1)
  }
  return { columns: Object.assign(columns, own), extraFields: extra }
}

function toColumnValue(value: Json, kind: ColumnKind): Scalar {
  if (value === null) return null
  if (kind === 'time') {
    if (typeof value === 'string' && isNormalizedTime(value)) return value
    const at = parseTime(value)
    return at === undefined ? null : rfc3339(at)
  }
  if (typeof value === 'object') return kind === 'text' ? stringifyJson(value) : null
  return value
}

function collectExtraFields(path: string, value: Json, into: Map<string, ExtraField>, depth: number): void {
  if (typeof value !== 'object' || value === null) {
    into.set(path, { value, isJsonText: false })
  } else if (Array.isArray(value) || depth === maxDepth || Object.keys(value).length === 0) {
    into.set(path, { value: stringifyJson(value), isJsonText: true })
  } else {
    for (const [field, inner] of Object.entries(value as JsonObject))
      collectExtraFields(`${path}.${field}`, inner, into, depth + 1)
  }
}

/** Identifies an item across pages: its key, else a hash of all of it. */
export function itemIdentity(key: string | null, item: Json): string {
  return key !== null && key.length <= 200 ? key : hash('sha256', stringifyJson(item))
}

/** The project that a row names if it is not `project`, else null. */
export function foreignProject(item: JsonObject, project: string): string | null {
  if (item.projectId === project) return null
  const named = findKey(item, ['projectid'])
  const nested = findField(item, 'project')
  const found = named ?? (typeof nested === 'object' ? findKey(nested ?? null, ['id', 'projectid', 'uuid']) : null)
  return found === null || found.toLowerCase() === project.toLowerCase() ? null : found.slice(0, 60)
}

function findField(item: JsonObject, name: string): Json | undefined {
  const field = Object.keys(item).find((key) => key.length <= maxNameLength && normalizeName(key) === name)
  return field === undefined ? undefined : item[field]
}

/** Every time in a row by its dotted path: the candidates for the sort field of a list. */
export function timesIn(item: Json): RowTimes {
  const times = new Map<string, number>()
  collectTimes(asJsonObject(item), '', times, 1)
  return times
}

function collectTimes(fields: JsonObject | null, prefix: string, into: Map<string, number>, depth: number): void {
  for (const field in fields) {
    if (into.size >= maxTimes) return
    if (prefix.length + field.length > maxNameLength) continue
    const value = fields[field] as Json
    const at = parseTime(value)
    if (at !== undefined) into.set(prefix + field, at)
    else if (typeof value === 'object' && depth < maxDepth)
      collectTimes(asJsonObject(value), `${prefix}${field}.`, into, depth + 1)
  }
}

/**
 * The key of a row as text: the first of these fields that contains one; null if none does. Names are compared without
 * case and underscores because undocumented fields may be spelled in any way.
 */
export function findKey(item: Json, names: readonly string[]): string | null {
  const row = asJsonObject(item)
  if (row === null) return null
  if (names[0] !== undefined && isKey(row[names[0]])) return String(row[names[0]])
  const short = Object.keys(row).filter((field) => field.length <= maxNameLength)
  const plain = new Map(short.map((field) => [normalizeName(field), row[field]]))
  const found = names.map((name) => plain.get(name)).find(isKey)
  return found === undefined ? null : String(found)
}

/** `visitor_id`, `visitorId` and `VisitorID` become the same name. */
export function normalizeName(field: string): string {
  const known = normalizedNames.get(field)
  if (known !== undefined) return known
  const plain = field.replaceAll('_', '').toLowerCase()
  if (normalizedNames.size < 2000 && field.length <= maxNameLength) normalizedNames.set(field, plain)
  return plain
}

/** A cache, because all rows have the same few names. */
const normalizedNames = new Map<string, string>()

function isKey(value: Json | undefined): boolean {
  return (typeof value === 'string' && value !== '') || typeof value === 'number' || typeof value === 'bigint'
}
