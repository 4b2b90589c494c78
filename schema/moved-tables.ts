/** What `deskmirror move` copies: every table but those that say why not, with all columns. */
import type { TableSpec } from './column-types.ts'
import { storedTables } from './tables.ts'

/** Columns with a place in the queue, which is unique among all projects of a warehouse. */
export const placeColumns: Readonly<Record<string, readonly string[]>> = {
  writebacks: ['seq'],
  writeback_events: ['seq'],
  writeback_batches: ['done_to'],
  writeback_cancellations: ['up_to', 'done_to'],
}

export const movedTables = storedTables.filter(([, { notMoved }]) => notMoved === undefined)

export const hasProject = ({ columns }: TableSpec): boolean => 'project_id' in columns
