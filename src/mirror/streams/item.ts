/** Items of the API → rows of the mirror. Documented fields become columns; other fields are passed on by their paths. */
import { hash } from 'node:crypto'
import type { MirrorRow } from '../../../schema/row.ts'
import { type ExtraField, escapeDots, maxDepth } from '../../values/field-path.ts'
import type { Json, Scalar } from '../../values/json.ts'
import { type JsonObject, stringifyJson } from '../../values/json.ts'
import type { ProjectId } from '../../values/project.ts'
import { isNormalizedTime, parseTime, rfc3339 } from '../../values/time.ts'
import { findKey, hasName } from '../core/item-fields.ts'

/** The type of a documented field. A value of another type becomes JSON text in a text column and null in any other. */
type ColumnKind = 'text' | 'integer' | 'boolean' | 'time'

/** The documented fields of a stream in the service's spelling, with their columns. */
export type DocumentedFields = Readonly<Record<string, readonly [column: string, kind: ColumnKind]>>

/** The fields of an event's time: those with these names need no column of their own. */
const occurredAtColumn = ['occurred_at', 'time'] as const
export const occurredAtFields: DocumentedFields = { occurredAt: occurredAtColumn, occurred_at: occurredAtColumn }

/** `own`: columns that override the item's fields, such as keys, the parent's key and the time of reading. */
export function toRow(item: JsonObject, documented: DocumentedFields, own: MirrorRow['columns'] = {}): MirrorRow {
  const columns: Record<string, Scalar> = {}
  const extraFields = new Map<string, ExtraField>()
  for (const field in item) {
    const value = item[field] as Json
    const known = Object.hasOwn(documented, field) ? documented[field] : undefined
    if (known !== undefined) columns[known[0]] = toColumnValue(value, known[1])
    else if (field !== 'projectId') collectExtraFields(escapeDots(field), value, extraFields, 1)
  }
  return { columns: Object.assign(columns, own), extraFields, item }
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
  const found = named ?? (typeof nested === 'object' ? findKey(nested ?? null, ['id', 'projectid', 'uuid']) : null)
  return found === null || found.toLowerCase() === project.toLowerCase() ? null : found.slice(0, 60)
}

function findField(item: JsonObject, name: string): Json | undefined {
  for (const field in item) if (hasName(field, name)) return item[field]
  return undefined
}
