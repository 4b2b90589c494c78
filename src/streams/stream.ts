/** What a stream is: data and pure functions, told apart by how the service lets it be read. */
import type { Day } from '../core/days.ts'
import type { ChildStream } from '../core/mirror.ts'
import type { Json, MirrorRow, Refused, StreamName } from '../core/row.ts'
import type { Seconds } from '../core/time.ts'
import type { List } from '../core/walk/list.ts'
import { type Fields, fieldsOf, keyOf, otherProject } from './row.ts'

export type Scope = 'conversations:read' | 'visitors:read' | 'calls:read' | 'analytics:read' | 'availability:read'

/** Rows that could be read, and those that could not: no object, no key, another project's. */
export type Rows = { readonly rows: readonly MirrorRow[]; readonly refused: readonly Refused[] }

/** A project's list, walked along its time line; its rows can also be read one by one. */
export type ListStream = {
  readonly kind: 'list'
  readonly name: 'conversations' | 'visitors' | 'calls'
  readonly scope: Scope
  readonly list: (project: string) => List
  readonly one: (project: string, id: string) => string
  /** `project`: rows that say they belong to another one are refused. */
  readonly rows: (items: readonly Json[], project?: string | null) => Rows
}

export type About = {
  /** Rows that say they belong to another project are refused. */
  readonly project?: string | null
  /** Carried from part to part of one answer: rows that are alike are told apart by how many came before. Grows. */
  readonly alike?: Map<string, number>
}

/** A list that belongs to one parent. */
export type BranchStream = {
  readonly kind: 'branch'
  readonly name: Extract<ChildStream, 'messages' | 'visitor_activity'>
  readonly scope: Scope
  readonly list: (project: string, parentId: string) => List
  readonly rows: (items: readonly Json[], parentId: string, about?: About) => Rows
}

/** One document that belongs to one parent. */
export type LeafStream = {
  readonly kind: 'leaf'
  readonly name: Extract<ChildStream, 'call_recordings'>
  readonly scope: Scope
  readonly path: (parentId: string) => string
  /** `item` null: the service answered 404 for a parent that exists. */
  readonly row: (item: Fields | null, parentId: string, readAt: Seconds) => MirrorRow
  /** Seconds until it is worth looking again although the parent stays as it is; null = never. */
  readonly again: (item: Fields | null, age: Seconds) => Seconds | null
}

/** A document for each day. */
export type DailyStream = {
  readonly kind: 'daily'
  readonly name: Extract<StreamName, 'analytics'>
  readonly scope: Scope
  readonly path: (project: string) => string
  readonly row: (item: Json, day: Day, timeZone: string, readAt: Seconds) => MirrorRow
}

/** A document that shows this moment only. */
export type MomentStream = {
  readonly kind: 'moment'
  readonly name: Extract<StreamName, 'availability'>
  readonly scope: Scope
  readonly path: (project: string) => string
  readonly row: (item: Json, readAt: Seconds) => MirrorRow
}

export type Stream = ListStream | BranchStream | LeafStream | DailyStream | MomentStream

/** What an item is; null: it has no key. */
type Read = (item: Fields) => MirrorRow | null

/** Reads what can be read. `project`: whose rows they have to be; null = the rows of this stream do not say. */
export function readRows(items: readonly Json[], project: string | null, read: Read): Rows {
  const rows: MirrorRow[] = []
  const refused: Refused[] = []
  for (const item of items) {
    const row = readRow(item, project, read)
    if ('why' in row) refused.push(row)
    else rows.push(row)
  }
  return { rows, refused }
}

function readRow(item: Json, project: string | null, read: Read): MirrorRow | Refused {
  const fields = fieldsOf(item)
  if (fields === null) return { id: null, why: 'it is not a JSON object' }
  const other = project === null ? null : otherProject(fields, project)
  if (other !== null) return { id: keyOf(item, ['id', 'uuid']), why: `it belongs to another project (${other})` }
  return read(fields) ?? { id: null, why: 'it has no key' }
}
