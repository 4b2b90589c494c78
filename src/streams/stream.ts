/** What a stream is: data and pure functions, told apart by how the service lets it be read. */
import type { Day } from '../core/days.ts'
import type { ChildStream } from '../core/mirror.ts'
import type { Json, MirrorRow, StreamName } from '../core/row.ts'
import type { Seconds } from '../core/time.ts'
import type { List } from '../core/walk/list.ts'
import type { Fields } from './row.ts'

export type Scope = 'conversations:read' | 'visitors:read' | 'calls:read' | 'analytics:read' | 'availability:read'

/** Rows that could be read, and how many could not: no object, or no key. */
export type Rows = { readonly rows: readonly MirrorRow[]; readonly unreadable: number }

/** A project's list, walked along its time line; its rows can also be read one by one. */
export type ListStream = {
  readonly kind: 'list'
  readonly name: 'conversations' | 'visitors' | 'calls'
  readonly scope: Scope
  readonly list: (project: string) => List
  readonly one: (project: string, id: string) => string
  readonly rows: (items: readonly Json[]) => Rows
}

/** A list that belongs to one parent. */
export type BranchStream = {
  readonly kind: 'branch'
  readonly name: Extract<ChildStream, 'messages' | 'visitor_activity'>
  readonly scope: Scope
  readonly list: (project: string, parentId: string) => List
  readonly rows: (items: readonly Json[], parentId: string) => Rows
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

/** Reads what can be read; a reader answers null for a row without a key. */
export function readRows(items: readonly Json[], read: (item: Json) => MirrorRow | null): Rows {
  const rows = items.map(read).filter((row) => row !== null)
  return { rows, unreadable: items.length - rows.length }
}
