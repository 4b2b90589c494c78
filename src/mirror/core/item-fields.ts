/** How items of the service become rows: columns, keys, and the times of undocumented fields. */
import { hash } from 'node:crypto'
import type { MirrorRow, RejectedRow } from '../../../schema/row.ts'
import {
  type ExtraField,
  escapeDots,
  findField,
  findKey,
  maxDepth,
  maxNameLength,
  normalizeName,
} from '../../values/field-path.ts'
import {
  asJsonObject,
  type Json,
  type JsonObject,
  type Scalar,
  stringifyJson,
} from '../../values/json.ts'
import type { Kept } from '../../values/private-columns.ts'
import type { ProjectId } from '../../values/project.ts'
import { normalizeTime, parseTime, rfc3339 } from '../../values/time.ts'
import type { RowTimes } from './pagination/sort-order.ts'

/** Limits the work for rows with very many times. */
const maxTimes = 100

/** Every time in a row by its dotted path: the candidates for the sort field of a list. */
export function timesIn(item: Json): RowTimes {
  const times = new Map<string, number>()
  collectTimes(asJsonObject(item), '', times, 1)
  return times
}

function collectTimes(
  fields: JsonObject | null,
  prefix: string,
  into: Map<string, number>,
  depth: number,
): void {
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

/** Likely names, best first; compared without case, with the last part of a path only. */
const timeFieldNames =
  'occurredat startedat starttime start timestamp at time createdat date created'.split(' ')

/** RFC 3339, or null for a row without any time. Depends on the row alone. */
export function occurredAt(item: Json): string | null {
  const times = [...timesIn(item)]
  const rank = (path: string) => {
    const at = timeFieldNames.indexOf(normalizeName(path.slice(path.lastIndexOf('.') + 1)))
    return at === -1 ? timeFieldNames.length : at
  }
  const [best] = times.sort(
    ([a, at], [b, bt]) => rank(a) - rank(b) || at - bt || a.localeCompare(b),
  )
  return best === undefined ? null : rfc3339(best[1])
}

/** Hexadecimal digits. */
const keyLength = 32

/**
 * A hash of the entry's id and its time (`at`), so that a changed entry stays one row. The id alone
 * may be that of a page or conversation, which other entries share. Without one of the two, a hash
 * of the whole entry.
 */
export function activityKey(item: Json, at: string | null): string {
  const id = at === null ? null : entryId(item)
  return id === null ? contentHash(item) : hash('sha256', `id:${id} at:${at}`).slice(0, keyLength)
}

/** Of the whole entry, in whatever order its fields come. */
export function contentHash(item: Json): string {
  return hash('sha256', stringifyJson(withSortedKeys(item))).slice(0, keyLength)
}

export function entryId(item: Json): string | null {
  return findKey(item, ['id', 'entryid', 'activityid', 'uuid'])
}

function withSortedKeys(item: Json): Json {
  if (Array.isArray(item)) return item.map(withSortedKeys)
  const fields = asJsonObject(item)
  if (fields === null) return item
  const names = Object.keys(fields).sort()
  return Object.fromEntries(names.map((name) => [name, withSortedKeys(fields[name] as Json)]))
}

/** Rows, and items that are not rows: no object, no key, or of another project. */
export type ParsedRows<Item extends Json = Kept> = {
  readonly rows: readonly MirrorRow<Item>[]
  readonly rejectedRows: readonly RejectedRow[]
}

/**
 * `project`: the project that the rows have to belong to; null = not checked. `parseRow`: null if
 * the item has no key.
 */
export function parseItems<Item extends Json>(
  items: readonly Item[],
  project: ProjectId | null,
  parseRow: (item: Item & JsonObject) => MirrorRow<Item> | null,
): ParsedRows<Item> {
  const rows: MirrorRow<Item>[] = []
  const rejectedRows: RejectedRow[] = []
  const parseItem = (item: Item): MirrorRow<Item> | RejectedRow => {
    const fields = asJsonObject(item) as (Item & JsonObject) | null
    if (fields === null) return { id: null, why: 'it is not a JSON object' }
    const other = project === null ? null : foreignProject(fields, project)
    if (other !== null)
      return { id: findKey(item, ['id', 'uuid']), why: `it belongs to another project (${other})` }
    return parseRow(fields) ?? { id: null, why: 'it has no key' }
  }
  for (const item of items) {
    const row = parseItem(item)
    if ('why' in row) rejectedRows.push(row)
    else rows.push(row)
  }
  return { rows, rejectedRows }
}

/**
 * The documented fields of a stream in the service's spelling, with their columns. A value of
 * another type becomes JSON text in a text column and null in any other.
 */
export type DocumentedFields = Readonly<
  Record<string, readonly [column: string, kind: 'text' | 'integer' | 'boolean' | 'time']>
>

/** The fields of an event's time: those with these names need no column of their own. */
const occurredAtColumn = ['occurred_at', 'time'] as const
export const occurredAtFields: DocumentedFields = {
  occurredAt: occurredAtColumn,
  occurred_at: occurredAtColumn,
}

/** `own`: columns that override the item's fields: keys, the time of reading. */
export function toRow<Item extends JsonObject>(
  item: Item,
  documented: DocumentedFields,
  own: MirrorRow['columns'] = {},
): MirrorRow<Item> {
  const columns: Record<string, Scalar> = {}
  const extraFields = new Map<string, ExtraField>()
  for (const field in item) {
    const value: Json = item[field] ?? null
    const known = Object.hasOwn(documented, field) ? documented[field] : undefined
    if (known !== undefined) columns[known[0]] = toColumnValue(value, known[1])
    else if (field !== 'projectId') collectExtraFields(escapeDots(field), value, extraFields, 1)
  }
  return { columns: Object.assign(columns, own), extraFields, item }
}

function toColumnValue(value: Json, kind: DocumentedFields[string][1]): Scalar {
  if (value === null) return null
  if (kind === 'time') return normalizeTime(value) ?? null
  if (typeof value === 'object') return kind === 'text' ? stringifyJson(value) : null
  return value
}

function collectExtraFields(
  path: string,
  value: Json,
  into: Map<string, ExtraField>,
  depth: number,
): void {
  if (typeof value !== 'object' || value === null) {
    into.set(path, { value, isJsonText: false })
  } else if (Array.isArray(value) || depth === maxDepth || Object.keys(value).length === 0) {
    into.set(path, { value: stringifyJson(value), isJsonText: true })
  } else {
    for (const [field, inner] of Object.entries(value as JsonObject))
      collectExtraFields(`${path}.${escapeDots(field)}`, inner, into, depth + 1)
  }
}

/** Identifies an item across pages: its key, else a hash of all of it. */
export function itemIdentity(key: string | null, item: Json): string {
  return key !== null && key.length <= 200 ? key : hash('sha256', stringifyJson(item))
}

/** The project that a row names if it is not `project`, else null. */
export function foreignProject(item: JsonObject, project: ProjectId): string | null {
  if (item.projectId === project) return null
  const named = findKey(item, ['projectid'])
  const nested = findField(item, 'project')
  const found =
    named ??
    (typeof nested === 'object' ? findKey(nested ?? null, ['id', 'projectid', 'uuid']) : null)
  return found === null || found.toLowerCase() === project.toLowerCase() ? null : found.slice(0, 60)
}
