/** What the columns of the tables for analysts are for tools. Their names say it: see docs/analytics.md, "Names". */
import { analyticsTables } from '../analytics-tables.ts'
import type { ColumnType } from '../column-types.ts'
import type { ColumnSpec, TableSpec } from '../table-spec.ts'
import type { ColumnRole, ViewColumn } from './analytics-view.ts'

export type AnalyticsTableName = keyof typeof analyticsTables

/** Numbers to group by or to compare with, never to add up. */
const dimensionNames = /^(hour|weekday|year|version)$|_(hour|number)$/
/** Numbers that are measured and must not be added up. */
const levelNames =
  /^(agents_min|agents_max|value|mean_difference|distinct_values)$|^(longest|target)_|_(s|value)$|^seconds_before$/

export function describeTable(name: AnalyticsTableName): Readonly<Record<string, ViewColumn>> {
  const { key, columns }: TableSpec = analyticsTables[name]
  return Object.fromEntries(
    Object.entries(columns).map(([column, spec]) => [column, describeColumn(column, spec, key.includes(column))]),
  )
}

/** A column that a view shows as the table has it. */
export function tableColumn(table: AnalyticsTableName, column: string): ViewColumn {
  const { key, columns }: TableSpec = analyticsTables[table]
  const spec = columns[column]
  if (spec === undefined) throw new Error(`${table} has no column ${column}`)
  return describeColumn(column, spec, key.includes(column))
}

function describeColumn(name: string, [declared, note]: ColumnSpec, isInKey: boolean): ViewColumn {
  const isNullable = declared.endsWith('?')
  const type = declared.replace('?', '') as ColumnType
  const role = roleOf(name, type, isInKey)
  const unit = role === 'measure' && /(^|_)seconds(_|$)/.test(name) ? 'seconds' : null
  return {
    type,
    isNullable,
    unit,
    note,
    role,
    aggregation: role === 'measure' && !levelNames.test(name) ? 'sum' : 'none',
  }
}

function roleOf(name: string, type: ColumnType, isInKey: boolean): ColumnRole {
  if (type === 'utc_time' || type === 'local_date') return 'time'
  if (type === 'key') return 'key'
  const isNumber = type === 'int32' || type === 'integer' || type === 'number'
  return isNumber && !isInKey && !dimensionNames.test(name) ? 'measure' : 'dimension'
}
