/** What a stream is: data and pure functions, told apart by how the service lets it be read. */
import type { LocalDay } from '../core/days.ts'
import type { ChildStreamName } from '../core/mirror.ts'
import type { ListEndpoint } from '../core/pagination/list-endpoint.ts'
import type { Json, MirrorRow, RefusedRow, StreamName } from '../core/row.ts'
import type { Seconds } from '../core/time.ts'
import { asJsonObject, findKey, foreignProject, type JsonObject } from './item.ts'

export type ApiScope = 'conversations:read' | 'visitors:read' | 'calls:read' | 'analytics:read' | 'availability:read'

/** Rows that could be read, and those that could not: no object, no key, another project's. */
export type ParsedRows = { readonly rows: readonly MirrorRow[]; readonly refused: readonly RefusedRow[] }

/** A project's list, walked along its time line; its rows can also be read one by one. */
export type ListStream = {
  readonly kind: 'list'
  readonly name: 'conversations' | 'visitors' | 'calls'
  readonly scope: ApiScope
  readonly list: (project: string) => ListEndpoint
  readonly rowPath: (project: string, id: string) => string
  /** `project`: rows that say they belong to another one are refused. */
  readonly parseRows: (items: readonly Json[], project?: string | null) => ParsedRows
}

export type ChildRowOptions = {
  /** Rows that say they belong to another project are refused. */
  readonly project?: string | null
  /** Carried from part to part of one answer: rows that are alike are told apart by how many came before. Grows. */
  readonly duplicateCounts?: Map<string, number>
}

/** A list that belongs to one parent. */
export type ChildListStream = {
  readonly kind: 'branch'
  readonly name: Extract<ChildStreamName, 'messages' | 'visitor_activity'>
  readonly scope: ApiScope
  readonly list: (project: string, parentId: string) => ListEndpoint
  readonly parseRows: (items: readonly Json[], parentId: string, about?: ChildRowOptions) => ParsedRows
}

/** One document that belongs to one parent. */
export type ChildObjectStream = {
  readonly kind: 'leaf'
  readonly name: Extract<ChildStreamName, 'call_recordings'>
  readonly scope: ApiScope
  readonly path: (parentId: string) => string
  /** `item` null: the service answered 404 for a parent that exists. */
  readonly parseRow: (item: JsonObject | null, parentId: string, readAt: Seconds) => MirrorRow
  /** Seconds until it is worth looking again although the parent stays as it is; null = never. */
  readonly rereadAfter: (item: JsonObject | null, age: Seconds) => Seconds | null
}

/** A document for each day. */
export type DailyStream = {
  readonly kind: 'daily'
  readonly name: Extract<StreamName, 'analytics'>
  readonly scope: ApiScope
  readonly path: (project: string) => string
  readonly parseRow: (item: Json, day: LocalDay, timeZone: string, readAt: Seconds) => MirrorRow
}

/** A document that shows this moment only. */
export type SnapshotStream = {
  readonly kind: 'moment'
  readonly name: Extract<StreamName, 'availability'>
  readonly scope: ApiScope
  readonly path: (project: string) => string
  readonly parseRow: (item: Json, readAt: Seconds) => MirrorRow
}

export type Stream = ListStream | ChildListStream | ChildObjectStream | DailyStream | SnapshotStream

/** What an item is; null: it has no key. */
type RowParser = (item: JsonObject) => MirrorRow | null

/** Reads what can be read. `project`: whose rows they have to be; null = the rows of this stream do not say. */
export function parseItems(items: readonly Json[], project: string | null, parseRow: RowParser): ParsedRows {
  const rows: MirrorRow[] = []
  const refused: RefusedRow[] = []
  for (const item of items) {
    const row = parseItem(item, project, parseRow)
    if ('why' in row) refused.push(row)
    else rows.push(row)
  }
  return { rows, refused }
}

function parseItem(item: Json, project: string | null, parseRow: RowParser): MirrorRow | RefusedRow {
  const fields = asJsonObject(item)
  if (fields === null) return { id: null, why: 'it is not a JSON object' }
  const other = project === null ? null : foreignProject(fields, project)
  if (other !== null) return { id: findKey(item, ['id', 'uuid']), why: `it belongs to another project (${other})` }
  return parseRow(fields) ?? { id: null, why: 'it has no key' }
}
