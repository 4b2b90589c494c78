/** How a view for analysts is described as data: the source of its SQL, its documentation and its metadata for tools. */
import type { ColumnType } from '../../../schema/column-types.ts'
import type { SqlDialect } from './sql-dialect.ts'

/** What a tool does with a column: a key identifies rows, a time orders them, a dimension groups, a measure is counted. */
export type ColumnRole = 'key' | 'time' | 'dimension' | 'measure'

/**
 * How the values of a measure in several rows combine. `distinct`: each is a number of different things, of which a sum would
 * count some twice. `weightedBy`: a mean, each value weighted by the sum of these columns of its row. `none`: they do not
 * combine, as medians, or states at different times.
 */
export type Aggregation = 'sum' | 'distinct' | 'none' | { readonly weightedBy: readonly string[] }

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
  /** Columns of the key to be filtered to one value: rows that differ in them count the same things, so sums would repeat them. */
  readonly alternatives?: readonly string[]
  /** The mirrored table whose rows it shows, by their id: with its discovered columns, as texts, after its own columns. */
  readonly discovers?: 'conversations' | 'visitors' | 'calls'
  /** In the order of the view. */
  readonly columns: Readonly<Record<string, ViewColumn>>
  /**
   * The query, for SQLite 3.28 or later, as BI tools bring their own SQLite. It names no discovered column and no `*` of a
   * mirrored table: a view that depends on a column would stop it from being widened. `discovers` adds them.
   */
  readonly select: (sql: SqlDialect) => string
}
