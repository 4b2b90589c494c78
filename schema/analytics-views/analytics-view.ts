/** How a view for analysts is described as data: the source of its SQL, its documentation and its metadata for tools. */
import type { ColumnType } from '../column-types.ts'
import type { SqlDialect } from './sql-dialect.ts'

/** What a tool does with a column: a key identifies rows, a time orders them, a dimension groups, a measure is counted. */
export type ColumnRole = 'key' | 'time' | 'dimension' | 'measure'

/** How the values of a measure combine. `none`: a median, a share or a state must not be added up. */
export type Aggregation = 'sum' | 'none'

export type ViewColumn = {
  readonly type: ColumnType
  readonly isNullable: boolean
  /** Of a measure; null = a plain number. `share`: a fraction of 1. */
  readonly unit: 'seconds' | 'share' | null
  readonly note: string
  readonly role: ColumnRole
  /** Of a measure; else `none`. */
  readonly aggregation: Aggregation
}

export type AnalyticsView = {
  /** What a row is. */
  readonly note: string
  /** What it could be taken for and is not; null = nothing. */
  readonly caveat: string | null
  /** Unique, with `project_id` first. */
  readonly key: readonly string[]
  /** In the order of the view. */
  readonly columns: Readonly<Record<string, ViewColumn>>
  /**
   * The query, for SQLite 3.28 or later, as BI tools bring their own SQLite. It names no discovered column and no `*` of a
   * mirrored table: a view that depends on a column would stop it from being widened.
   */
  readonly select: (sql: SqlDialect) => string
}
