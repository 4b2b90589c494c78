/** A stream: data and pure functions, in five kinds by how the service lets it be read. */

import { hash } from 'node:crypto'
import type { MirrorRow, RejectedRow } from '../../../schema/row.ts'
import type { StreamKind, StreamNameOf } from '../../../schema/stream-specs.ts'
import type { LocalDay } from '../../values/days.ts'
import { type ExtraField, escapeDots, maxDepth } from '../../values/field-path.ts'
import { asJsonObject, type Json, type JsonObject, type Scalar, stringifyJson } from '../../values/json.ts'
import type { ProjectId } from '../../values/project.ts'
import { type EpochSeconds, isNormalizedTime, parseTime, rfc3339, type Seconds } from '../../values/time.ts'
import { findKey, hasName } from '../core/item-fields.ts'
import type { ListEndpoint } from '../core/pagination/paging-profile.ts'

export type ApiScope = `${string}:read`

/** Rows, and items that are not rows: no object, no key, or of another project. */
export type ParsedRows = { readonly rows: readonly MirrorRow[]; readonly rejectedRows: readonly RejectedRow[] }

type StreamOf<Kind extends StreamKind> = {
  readonly kind: Kind
  readonly name: StreamNameOf<Kind>
  readonly scope: ApiScope
}

/** A list of the project, paged by time; its rows can also be read by id. */
export type ListStream = StreamOf<'list'> & {
  readonly list: (project: ProjectId) => ListEndpoint
  readonly rowPath: (project: ProjectId, id: string) => string
  /** `project`: rows that name another project are rejected. */
  readonly parseRows: (items: readonly Json[], project?: ProjectId | null) => ParsedRows
}

type ChildRowOptions = {
  /** Rows that name another project are rejected. */
  readonly project?: ProjectId | null
  /** Counts identical rows across the batches of one response, to number them. Mutable. */
  readonly duplicateCounts?: Map<string, number>
}

/** A list that belongs to one parent. */
export type ChildListStream = StreamOf<'child-list'> & {
  readonly list: (project: ProjectId, parentId: string) => ListEndpoint
  /** The parent's time of last activity is that of its newest row. Else it may be later. */
  readonly parentShowsNewest: boolean
  /** Rows with the same key are numbered by their place in the list, so a second has to be read whole. */
  readonly isNumbered: boolean
  readonly parseRows: (items: readonly Json[], parentId: string, options?: ChildRowOptions) => ParsedRows
}

/** One object that belongs to one parent. */
export type ChildObjectStream = StreamOf<'child-object'> & {
  readonly path: (parentId: string) => string
  /** `item` null: the service responded 404 for a parent that exists. */
  readonly parseRow: (item: JsonObject | null, parentId: string, readAt: EpochSeconds) => MirrorRow
  /** Time until the next read if the parent does not change; null = never. `age`: time since the parent's own. */
  readonly rereadAfter: (item: JsonObject | null, age: Seconds) => Seconds | null
}

/** One object per day. */
export type DailyStream = StreamOf<'daily'> & {
  readonly path: (project: ProjectId) => string
  readonly parseRow: (item: Json, day: LocalDay, timeZone: string, readAt: EpochSeconds) => MirrorRow
}

/** An object that shows the current state only. */
export type SnapshotStream = StreamOf<'snapshot'> & {
  readonly path: (project: ProjectId) => string
  readonly parseRow: (item: Json, readAt: EpochSeconds) => MirrorRow
}

export type Stream = ListStream | ChildListStream | ChildObjectStream | DailyStream | SnapshotStream

/** Null if the item has no key. */
type RowParser = (item: JsonObject) => MirrorRow | null

/** `project`: the project that the rows have to belong to; null = not checked. */
export function parseItems(items: readonly Json[], project: ProjectId | null, parseRow: RowParser): ParsedRows {
  const rows: MirrorRow[] = []
  const rejectedRows: RejectedRow[] = []
  for (const item of items) {
    const row = parseItem(item, project, parseRow)
    if ('why' in row) rejectedRows.push(row)
    else rows.push(row)
  }
  return { rows, rejectedRows }
}

function parseItem(item: Json, project: ProjectId | null, parseRow: RowParser): MirrorRow | RejectedRow {
  const fields = asJsonObject(item)
  if (fields === null) return { id: null, why: 'it is not a JSON object' }
  const other = project === null ? null : foreignProject(fields, project)
  if (other !== null) return { id: findKey(item, ['id', 'uuid']), why: `it belongs to another project (${other})` }
  return parseRow(fields) ?? { id: null, why: 'it has no key' }
}

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
