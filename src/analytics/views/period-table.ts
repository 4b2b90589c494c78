/** How a table of the pages about a period is declared. */
import { quoteText } from '../../warehouse/dialect.ts'
import type { DateRange } from '../core/report-period.ts'
import type { SqlDialect } from './sql-dialect.ts'
import type { AnalyticsView } from './view-spec.ts'

/** A text as a literal of SQL, which only `quote` makes. */
type SqlLiteral = string & { readonly isQuoted: true }

/** Postgres stores no NUL, so nothing has such a name. */
export const quote = (text: string) => quoteText(text.replaceAll('\0', '')) as SqlLiteral

/** `agent`: the name on the messages; null = all. */
export type Within = Readonly<Record<keyof DateRange | 'project', SqlLiteral>> & {
  readonly agent: SqlLiteral | null
}

export type PeriodTable = {
  readonly title: string
  /** Whose columns it has; their notes explain them. */
  readonly view: AnalyticsView
  /** What a reader must know to judge the numbers. */
  readonly about: string
  /** What the filter by an agent means here; null = it does not apply. */
  readonly ofAgent: string | null
  /** In place of a table without rows. */
  readonly empty: string
  /** Titles by the names of the columns, those of the key first. */
  readonly columns: Readonly<Record<string, string>>
  readonly key: readonly string[]
  readonly sort: string
  readonly rows: (within: Within, sql: SqlDialect) => string
  /** The same numbers over all rows, in one row. */
  readonly total?: (within: Within, sql: SqlDialect) => string
  /** By day. `series`: titles by columns. `unit` null: durations. */
  readonly charts: readonly {
    readonly title: string
    readonly kind?: 'lines'
    readonly unit: string | null
    readonly series: Readonly<Record<string, string>>
  }[]
  /** Column of the key with a chart for each of its values. */
  readonly split?: string
  /** In place of charts by day: titles by the columns that are drawn by weekday and hour. */
  readonly heatMaps?: Readonly<Record<string, string>>
  /** The numbers of the charts by date; otherwise the facts that are counted. */
  readonly days?: (within: Within, sql: SqlDialect) => string
  /** What is counted, one row each, with its `date` unless there are `days`. */
  readonly facts: (within: Within) => string
  /** Columns that count facts, and the condition of each; null = all. */
  readonly counted: Readonly<Record<string, string | null>>
  /** Of the facts, that leads to conversations. */
  readonly id: 'conversation_id' | 'visitor_id'
}

/** A condition: dates and the agent, by columns with that alias; `name` null: all agents. */
export function where(
  { project, from, to, agent }: Within,
  alias: string,
  date: string,
  name: string | null,
): string {
  const ofAgent = agent === null || name === null ? '' : ` and ${alias}${name} = ${agent}`
  return `${alias}project_id = ${project} and ${alias}${date} between ${from} and ${to}${ofAgent}`
}
