/** How a chart of the starter dashboards is described as data: the source of those for Grafana and for Metabase. */
import type { SqlDialect } from '../analytics-views/sql-dialect.ts'

/**
 * What the values of a column are. `day`: a date of the project, on the x-axis. `category`: another label on the x-axis.
 * `series`: names the line that a row belongs to. `mean`: a number with a fraction.
 */
export type ChartColumnKind = 'day' | 'category' | 'series' | 'text' | 'count' | 'mean' | 'seconds' | 'share'

export type ChartColumn = { readonly kind: ChartColumnKind; readonly title: string; readonly isNullable?: true }

/** Conditions in the terms of a tool, for a column of the project and for one of a local date. */
export type ChartFilters = {
  readonly project: (column: string) => string
  readonly days: (column: string) => string
}

export type Chart = {
  readonly title: string
  /** Shown beside the chart: what it means, and what it does not. */
  readonly meaning: string
  readonly visualisation: 'table' | 'line' | 'bar'
  /** In the order of the query. A line or bar chart begins with its x-axis. */
  readonly columns: Readonly<Record<string, ChartColumn>>
  /** The query for one project, ordered. */
  readonly select: (sql: SqlDialect, filters: ChartFilters) => string
}
