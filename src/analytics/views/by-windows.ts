/**
 * Queries of views from lists of columns. Those by windows hand down a filter by day: SQLite does
 * not do so through joins or `group by`, and would read the whole history for one week.
 */

import type { SqlDialect } from './sql-dialect.ts'
import {
  type AnalyticsTableName,
  type AnalyticsView,
  kind,
  orNull,
  tableColumns,
  type ViewColumn,
} from './view-spec.ts'

type Sql = string | ((sql: SqlDialect) => string)
const inDialect = (part: Sql, sql: SqlDialect) => (typeof part === 'string' ? part : part(sql))

/** Columns with their expressions; a column alone is one of that name. */
type Expressions<Expression = Sql> = Readonly<
  Record<string, ViewColumn | readonly [column: ViewColumn, expression: Expression]>
>

const columnOf = (part: Expressions[string]): ViewColumn => ('type' in part ? part : part[0])

/** `from`: what follows the word. */
export function queryView({
  key,
  columns,
  from,
  ...texts
}: Omit<AnalyticsView, 'key' | 'columns' | 'select'> & {
  readonly key: Expressions
  readonly columns: Expressions
  readonly from: Sql
}): AnalyticsView {
  const all = { ...key, ...columns }
  return {
    ...texts,
    key: Object.keys(key),
    columns: Object.fromEntries(Object.entries(all).map(([name, part]) => [name, columnOf(part)])),
    select: (sql) => `
    select ${columnList(all, sql)}
    from ${inDialect(from, sql)}`,
  }
}

export function columnList(columns: Expressions, sql: SqlDialect): string {
  return Object.entries(columns)
    .map(([name, part]) => selected(name, part, sql))
    .join(',\n      ')
}

function selected(name: string, part: Expressions[string], sql: SqlDialect): string {
  const expression = 'type' in part ? name : inDialect(part[1], sql)
  return expression.replace(/^\w+\./, '') === name ? expression : `${expression} as ${name}`
}

/** Columns that a view shows as a table of that alias has them. */
export function columnsFrom(
  alias: string,
  table: AnalyticsTableName,
  ...names: readonly string[]
): Expressions {
  const columns = tableColumns(table)
  return Object.fromEntries(
    names.map((name) => {
      const column = columns[name]
      if (column === undefined) throw new Error(`${table} has no column ${name}`)
      return [name, [column, `${alias}.${name}`]]
    }),
  )
}

/** What is often counted and measured; the last three are columns of percentiles. */
export const countIf = (note: string, condition: string) =>
  [kind.count(note), `count(case when ${condition} then 1 end)`] as const
/** How long ago a time is. */
export const untilNow = (note: string, time: string) =>
  [
    orNull.duration(note),
    (sql: SqlDialect) => `${sql.epoch(sql.now)} - ${sql.epoch(time)}`,
  ] as const
export const valuesCounted = (note: string) => [kind.count(note), 'values_counted'] as const
export const median = (note: string) => [orNull.meanSeconds(note), 'median_value'] as const
export const p90 = (note: string) => [orNull.duration(note), 'p90_value'] as const

export type MergedSource = {
  /** The expressions of the key, in its order. */
  readonly key: readonly string[]
  readonly columns: Expressions<string>
  /** After `from`. With a `group by`, tables only, so that SQLite filters before it groups. */
  readonly from: string
}

export function mergedView({
  key,
  sources,
  ...texts
}: Pick<AnalyticsView, 'note' | 'caveat'> & {
  readonly key: Readonly<Record<string, ViewColumn>>
  readonly sources: readonly MergedSource[]
}): AnalyticsView {
  const names = Object.keys(key)
  return {
    ...texts,
    key: names,
    columns: { ...key, ...mergedColumns(sources) },
    select: () => mergeByKey(names, sources),
  }
}

/** The columns of all queries, in their order. */
export function mergedColumns(sources: readonly MergedSource[]): AnalyticsView['columns'] {
  const columns = sources.flatMap((source) => Object.entries(source.columns))
  return Object.fromEntries(columns.map(([name, part]) => [name, columnOf(part)]))
}

/**
 * One row for each key, as a full join. A column that cannot be null is 0 where a query lacks it.
 */
export function mergeByKey(key: readonly string[], sources: readonly MergedSource[]): string {
  const names = Object.entries(mergedColumns(sources))
  const keyList = key.join(', ')
  const merged = names.map(([name, { isNullable }]) => {
    const value = `max(${name}) over same_key`
    return `${isNullable ? value : `coalesce(${value}, 0)`} as ${name}`
  })
  const arms = sources.map((source, n) => {
    // The first query names the columns, and gives them their types, also where it has only nulls.
    const named = (value: string, name: string) => (n === 0 ? `${value} as ${name}` : value)
    const keys = key.map((name, index) => named(source.key[index] ?? '', name))
    const values = names.map(([name, { type }]) => {
      const castType = type === 'number' ? 'double precision' : 'bigint'
      const { [name]: part } = source.columns
      if (part === undefined && n > 0) return 'null'
      const value = part === undefined ? 'null' : 'type' in part ? name : part[1]
      return named(`cast(${value} as ${castType})`, name)
    })
    return `
        select ${[...keys, ...values].join(', ')}
        from ${source.from}`
  })
  return `
    select ${[...key, ...names.map(([name]) => name)].join(', ')}
    from (
      select ${[...key, ...merged].join(',\n        ')},
        row_number() over same_key as place
      from (${arms.join('\n        union all')}
      ) sources
      window same_key as (partition by ${keyList})
    ) merged
    where place = 1`
}

type PercentileSource = {
  /** Columns that the values are grouped by, as `name: expression`. */
  readonly groups: Readonly<Record<string, string>>
  /** The expression of the values, whole numbers; nulls must be excluded by `from`. */
  readonly value: string
  /** What follows `from`. */
  readonly from: string
}

/** The same place twice if the number of values is odd. */
const middlePlaces = '((values_counted + 1) / 2, (values_counted + 2) / 2)'
const p90Place = '(9 * values_counted + 9) / 10'

/**
 * Exact, without functions that a database lacks. One row for each group: its columns,
 * `values_counted`, `median_value` (the mean of the two middle ones), `p90_value` (the smallest
 * that nine tenths do not exceed) and `mean_value`. SQLite sorts only once if the place comes last,
 * and compares faster if the project, mostly the same, comes last.
 */
export function percentilesOf({ groups, value, from }: PercentileSource): string {
  const names = Object.keys(groups).join(', ')
  const expressions = Object.values(groups).reverse().join(', ')
  const columns = Object.entries(groups).map(([name, expression]) => `${expression} as ${name}`)
  return `
    select ${names}, values_counted, median_value, p90_value, mean_value
    from (
      select ${names}, values_counted, mean_value,
        avg(case when place in ${middlePlaces} then cast(counted_value as double precision) end)
          over (partition by ${names}) as median_value,
        max(case when place = ${p90Place} then counted_value end) over (partition by ${names})
        as p90_value,
        row_number() over (partition by ${names} order by place) as row_of_group
      from (
        select ${columns.join(', ')}, ${value} as counted_value,
          count(*) over (partition by ${expressions}) as values_counted,
          avg(cast(${value} as double precision)) over (partition by ${expressions}) as mean_value,
          row_number() over (partition by ${expressions} order by ${value}) as place
        from ${from}
      ) placed
      where place in ${middlePlaces} or place = ${p90Place}
    ) summarised
    where row_of_group = 1`
}

/** Columns of a table by one of its dates, as a query to merge. */
export function columnsByDay(
  table: string,
  date: string,
  columns: MergedSource['columns'],
): MergedSource {
  const from = `${table} where ${date} is not null group by project_id, ${date}`
  return { key: ['project_id', date], columns, from }
}

/** Percentiles of a column of a table by one of its dates, as a query to merge. */
export function percentilesByDay(
  table: string,
  date: string,
  value: string,
  columns: MergedSource['columns'],
) {
  const from = `${table} where ${value} is not null and ${date} is not null`
  return percentileSource({ groups: { project_id: 'project_id', date }, value, from, columns })
}

/** Percentiles as a query to merge; its key are the groups. */
export function percentileSource({
  columns,
  ...source
}: PercentileSource & Pick<MergedSource, 'columns'>) {
  return {
    key: Object.keys(source.groups),
    columns,
    from: `(${percentilesOf(source)}) percentiles`,
  }
}
