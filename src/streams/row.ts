/** Wire rows → mirror rows. What a stream documents becomes its columns; every other field is handed on by its path. */
import { hash } from 'node:crypto'
import { stringifyJson } from '../core/json.ts'
import type { Extra, Json, MirrorRow, Scalar } from '../core/row.ts'
import { isNormal, moment, rfc3339 } from '../core/time.ts'
import type { Times } from '../core/walk/order.ts'

export type Fields = { readonly [field: string]: Json }

/** How a documented field becomes a column. A value of another type is kept in `raw` and, as text, where text is asked. */
export type Kind = 'text' | 'integer' | 'boolean' | 'time'

/** Documented fields of a stream, in the service's spelling, with their column and kind. */
export type Documented = Readonly<Record<string, readonly [column: string, kind: Kind]>>

/** Nested objects are followed this deep; what lies deeper is one JSON value. */
const deepest = 5

/** Longer names of fields are nobody's keys and times. */
const longestName = 200
/** More times than that in one row order nothing. */
const mostTimes = 100

/** The fields of a wire row; null if it is no object. */
export function fieldsOf(item: Json): Fields | null {
  return typeof item === 'object' && item !== null && !Array.isArray(item) ? (item as Fields) : null
}

/** One row. `own` are columns that we know better than the item: keys, the parent's too, and times of reading. */
export function toRow(item: Fields, documented: Documented, own: Readonly<Record<string, Scalar>> = {}): MirrorRow {
  const columns: Record<string, Scalar> = {}
  const extra = new Map<string, Extra>()
  for (const field in item) {
    const value = item[field] as Json
    const known = Object.hasOwn(documented, field) ? documented[field] : undefined
    if (known !== undefined) columns[known[0]] = convert(value, known[1])
    else if (field !== 'projectId') flatten(field, value, extra, 1)
  }
  return { columns: Object.assign(columns, own), extra, raw: stringifyJson(item) }
}

function convert(value: Json, kind: Kind): Scalar {
  if (value === null) return null
  if (kind === 'time') {
    if (typeof value === 'string' && isNormal(value)) return value
    const at = moment(value)
    return at === undefined ? null : rfc3339(at)
  }
  if (typeof value === 'object') return kind === 'text' ? stringifyJson(value) : null
  return value
}

function flatten(path: string, value: Json, into: Map<string, Extra>, depth: number): void {
  if (typeof value !== 'object' || value === null) {
    into.set(path, { value, json: false })
  } else if (Array.isArray(value) || depth === deepest || Object.keys(value).length === 0) {
    into.set(path, { value: stringifyJson(value), json: true })
  } else {
    for (const [field, inner] of Object.entries(value as Fields)) flatten(`${path}.${field}`, inner, into, depth + 1)
  }
}

/** What makes an item known again: its key, else all that it says. */
export function identity(key: string | null, item: Json): string {
  return key !== null && key.length <= 200 ? key : hash('sha256', stringifyJson(item))
}

/** The project that a row says it belongs to, where that is not `project`; null where it says nothing else. */
export function otherProject(item: Fields, project: string): string | null {
  if (item.projectId === project) return null
  const named = keyOf(item, ['projectid'])
  const nested = plainField(item, 'project')
  const found = named ?? (typeof nested === 'object' ? keyOf(nested ?? null, ['id', 'projectid', 'uuid']) : null)
  return found === null || found.toLowerCase() === project.toLowerCase() ? null : found.slice(0, 60)
}

function plainField(item: Fields, name: string): Json | undefined {
  const field = Object.keys(item).find((key) => key.length <= longestName && plainName(key) === name)
  return field === undefined ? undefined : item[field]
}

/** Every time in a row by its dotted path: the candidates for what a list is ordered by. */
export function timesOf(item: Json): Times {
  const times = new Map<string, number>()
  collect(fieldsOf(item), '', times, 1)
  return times
}

function collect(fields: Fields | null, prefix: string, into: Map<string, number>, depth: number): void {
  for (const field in fields) {
    if (into.size >= mostTimes) return
    if (prefix.length + field.length > longestName) continue
    const value = fields[field] as Json
    const at = moment(value)
    if (at !== undefined) into.set(prefix + field, at)
    else if (typeof value === 'object' && depth < deepest)
      collect(fieldsOf(value), `${prefix}${field}.`, into, depth + 1)
  }
}

/**
 * The key of a row, as text: the first of these fields that holds one; null if none does. Names are compared without
 * case and underscores, as fields that are not documented may be written in any way.
 */
export function keyOf(item: Json, names: readonly string[]): string | null {
  const row = fieldsOf(item)
  if (row === null) return null
  if (names[0] !== undefined && isKey(row[names[0]])) return String(row[names[0]])
  const short = Object.keys(row).filter((field) => field.length <= longestName)
  const plain = new Map(short.map((field) => [plainName(field), row[field]]))
  const found = names.map((name) => plain.get(name)).find(isKey)
  return found === undefined ? null : String(found)
}

/** `visitor_id`, `visitorId` and `VisitorID` are one name. */
export function plainName(field: string): string {
  const known = plainNames.get(field)
  if (known !== undefined) return known
  const plain = field.replaceAll('_', '').toLowerCase()
  if (plainNames.size < 2000 && field.length <= longestName) plainNames.set(field, plain)
  return plain
}

/** Rows have the same few names again and again. */
const plainNames = new Map<string, string>()

function isKey(value: Json | undefined): boolean {
  return (typeof value === 'string' && value !== '') || typeof value === 'number' || typeof value === 'bigint'
}
