/** What `deskmirror move` copies: every table that is not named here, with all of its columns. */
import type { TableSpec } from './column-types.ts'
import { tables } from './tables.ts'

/** Of a warehouse and not of its rows, or made from other rows; see `move-state.ts`. */
export const notMoved = {
  sync_installation: 'taken over by a statement, if the whole warehouse moves',
  sync_sends: 'taken over by a statement, which counts the move as a send',
  sync_keys: 'taken over by a statement, as the other database has another clock',
  sync_budgets: 'closed for a window instead, as the other database has another clock',
  sync_moves: 'each warehouse says what it is itself',
  sync_locks: 'of processes, which have ended',
  sync_workers: 'of processes, which have ended',
  search_conversations: 'an index, which a rebuild of the facts fills',
  _metabase_metadata: 'written when a database is migrated',
} as const satisfies Readonly<Record<string, string>>

/** Columns with a place in the queue, which is unique among all projects of a warehouse. */
export const placeColumns: Readonly<Record<string, readonly string[]>> = {
  writebacks: ['seq'],
  writeback_events: ['seq'],
  writeback_batches: ['done_to'],
  writeback_cancellations: ['up_to', 'done_to'],
}

const specs = Object.entries<TableSpec>(tables)

export const movedTables: readonly (readonly [name: string, spec: TableSpec])[] = specs.filter(
  ([name, { storedIn }]) => storedIn === undefined && !(name in notMoved),
)

export const hasProject = ({ columns }: TableSpec): boolean => 'project_id' in columns
