/** The kinds of columns that views have, so that a view reads as a list of names and notes; and those of tables. */
import { analyticsTables } from '../../../schema/analytics-tables.ts'
import type { ColumnType } from '../../../schema/column-types.ts'
import type { ColumnSpec, TableSpec } from '../../../schema/table-spec.ts'
import type { Aggregation, ColumnRole, ViewColumn } from './analytics-view.ts'

const plain = (type: ColumnType, role: ColumnRole, note: string): ViewColumn => ({
  type,
  isNullable: false,
  unit: null,
  note,
  role,
  aggregation: 'none',
})

export const key = (note: string) => plain('key', 'key', note)
export const text = (note: string) => plain('text', 'dimension', note)
export const flag = (note: string) => plain('boolean', 'dimension', note)
/** A time in UTC. */
export const time = (note: string) => plain('utc_time', 'time', note)
/** A date in the project's time zone. */
export const date = (note: string) => plain('local_date', 'time', note)
/** A small number to group by: an hour, a weekday. */
export const number = (note: string) => plain('int32', 'dimension', note)

/** Can be added up over days. */
export const count = (note: string): ViewColumn => ({ ...plain('integer', 'measure', note), aggregation: 'sum' })
/** A number of different things, some of which other rows count as well. */
export const distinct = (note: string): ViewColumn => ({ ...count(note), aggregation: 'distinct' })
/** A state at one time: the days of a month must not be added up. */
export const level = (note: string) => plain('integer', 'measure', note)
/** A mean or a rate. */
export const mean = (note: string) => plain('number', 'measure', note)
export const share = (note: string): ViewColumn => ({ ...mean(note), unit: 'share' })
/** Whole seconds that can be added up. */
export const seconds = (note: string): ViewColumn => ({ ...count(note), unit: 'seconds' })
/** Whole seconds that must not be added up. */
export const duration = (note: string): ViewColumn => ({ ...level(note), unit: 'seconds' })
/** Seconds with a fraction, as of a median. */
export const meanSeconds = (note: string): ViewColumn => ({ ...mean(note), unit: 'seconds' })

/** A mean or a share that combines to that of several rows if each is weighted by the sum of these columns. */
export const weighted = (column: ViewColumn, ...weightedBy: readonly string[]): ViewColumn => ({
  ...column,
  aggregation: { weightedBy },
})

export const optional = (column: ViewColumn): ViewColumn => ({ ...column, isNullable: true })

/** The note of a column, and for tools that do not show it otherwise how its values combine. */
export function describeColumn({ note, role, aggregation }: ViewColumn): string {
  if (role !== 'measure' || aggregation === 'sum') return note
  if (aggregation === 'distinct') return `${note}; counts different ones, so do not add it up`
  if (aggregation === 'none') return `${note}; do not add it up`
  return `${note}; combine it as a mean weighted by ${aggregation.weightedBy.join(' + ')}`
}

export const projectId = key('the project that the row belongs to')

export type AnalyticsTableName = keyof typeof analyticsTables

/** Numbers to group by or to compare with, never to add up. */
const dimensionNames = /^(hour|weekday|year|version)$|_(hour|number)$/
/** Numbers that are measured and must not be added up. */
const levelNames = /^(agents_min|agents_max)$|^(longest|target)_|_(s|value)$|^seconds_before$/
/** Numbers of different things. */
const distinctNames = /^human_names$/

/** What the columns of a table are for tools: their names say it. */
export function describeTable(name: AnalyticsTableName): Readonly<Record<string, ViewColumn>> {
  const { key, columns }: TableSpec = analyticsTables[name]
  return Object.fromEntries(
    Object.entries(columns).map(([column, spec]) => [column, specifiedColumn(column, spec, key.includes(column))]),
  )
}

/** A column that a view shows as the table has it. */
export function tableColumn(table: AnalyticsTableName, column: string): ViewColumn {
  const { key, columns }: TableSpec = analyticsTables[table]
  const spec = columns[column]
  if (spec === undefined) throw new Error(`${table} has no column ${column}`)
  return specifiedColumn(column, spec, key.includes(column))
}

function specifiedColumn(name: string, [declared, note]: ColumnSpec, isInKey: boolean): ViewColumn {
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
    aggregation: role === 'measure' ? aggregationOf(name) : 'none',
  }
}

function aggregationOf(name: string): Aggregation {
  if (distinctNames.test(name)) return 'distinct'
  return levelNames.test(name) ? 'none' : 'sum'
}

function roleOf(name: string, type: ColumnType, isInKey: boolean): ColumnRole {
  if (type === 'utc_time' || type === 'local_date') return 'time'
  if (type === 'key') return 'key'
  const isNumber = type === 'int32' || type === 'integer' || type === 'number'
  return isNumber && !isInKey && !dimensionNames.test(name) ? 'measure' : 'dimension'
}
