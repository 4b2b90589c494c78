/** How a table is described as data, and the column that nearly every table has. */
import type { ColumnType } from './column-types.ts'

export type ColumnSpec = readonly [type: ColumnType | `${ColumnType}?`, note: string]

export type TableSpec = {
  readonly note: string
  /** The primary key, with `project_id` first if the table has one: projects never touch each other's rows. */
  readonly key: readonly string[]
  /**
   * Of a table with many rows for one conversation or visitor: Postgres has an index on these columns instead of the key.
   * Equal entries of an index share their room, so it takes a quarter of it; tests show that the key is unique.
   */
  readonly postgresIndex?: readonly string[]
  /** The table that stores the rows, if this is a view of it. */
  readonly storedIn?: string
  readonly columns: Readonly<Record<string, ColumnSpec>>
}

export const projectColumns = { project_id: ['key', 'the project that the row belongs to'] } as const
