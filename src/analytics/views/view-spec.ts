/** A view for analysts as data: the source of its SQL, its documentation and metadata for tools. */
import { analyticsTables } from '../../../schema/analytics-tables.ts'
import {
  type ColumnType,
  type NumberUse,
  plainType,
  type TableSpec,
} from '../../../schema/column-types.ts'
import type { ListStreamName } from '../../../schema/stream-specs.ts'
import type { SqlDialect } from './sql-dialect.ts'

export type ViewColumn = {
  readonly type: ColumnType
  readonly isNullable: boolean
  /** Of a measure; null = a plain number. `share`: a fraction of 1. */
  readonly unit: 'seconds' | 'share' | null
  readonly note: string
  /** A key identifies rows, a time orders them, a dimension groups, a measure is counted. */
  readonly role: 'key' | 'time' | 'dimension' | 'measure'
  /**
   * How several rows of a measure combine; else `none`. `weightedBy`: a mean, weighted by the sum of
   * these columns.
   */
  readonly aggregation: Exclude<NumberUse, 'dimension'> | { readonly weightedBy: readonly string[] }
}

export type AnalyticsView = {
  /** What a row is. */
  readonly note: string
  /** What it could be taken for and is not; null = nothing. */
  readonly caveat: string | null
  /** Unique, with `project_id` first. */
  readonly key: readonly string[]
  /** Columns to be filtered to one value: rows that differ in them count the same things. */
  readonly alternatives?: readonly string[]
  /** The mirrored table of its rows: its discovered columns follow, as texts. */
  readonly discovers?: ListStreamName
  /**
   * Its rows are versions: the query ends with a column `raw`, from which these columns are taken
   * and which the view does not show.
   */
  readonly discoversInRaw?: true
  /** In the order of the view. */
  readonly columns: Readonly<Record<string, ViewColumn>>
  /**
   * For SQLite 3.28 or later, as BI tools bring their own. No discovered column and no `*` of a
   * mirrored table: a view that depends on one would stop it from being widened.
   */
  readonly select: (sql: SqlDialect) => string
}

const kindOf =
  (
    type: ColumnType,
    role: ViewColumn['role'],
    aggregation: ViewColumn['aggregation'] = 'none',
    unit: ViewColumn['unit'] = null,
  ) =>
  (note: string): ViewColumn => ({ type, isNullable: false, unit, note, role, aggregation })

/** The kinds of columns, so that a view reads as a list of names and notes. */
export const kind = {
  key: kindOf('key', 'key'),
  text: kindOf('text', 'dimension'),
  flag: kindOf('boolean', 'dimension'),
  time: kindOf('utc_time', 'time'),
  date: kindOf('local_date', 'time'),
  /** A small number to group by: an hour, a weekday. */
  number: kindOf('int32', 'dimension'),
  /** Can be added up over days. */
  count: kindOf('integer', 'measure', 'sum'),
  /** A number of different things, some of which other rows count as well. */
  distinct: kindOf('integer', 'measure', 'distinct'),
  /** A state at one time: the days of a month must not be added up. */
  level: kindOf('integer', 'measure', 'none'),
  /** A mean or a rate. */
  mean: kindOf('number', 'measure', 'none'),
  share: kindOf('number', 'measure', 'none', 'share'),
  /** Whole seconds that can be added up. */
  seconds: kindOf('integer', 'measure', 'sum', 'seconds'),
  /** Whole seconds that must not be added up. */
  duration: kindOf('integer', 'measure', 'none', 'seconds'),
  /** Seconds with a fraction, as of a median. */
  meanSeconds: kindOf('number', 'measure', 'none', 'seconds'),
}

/** The same kinds of columns, which may be null. */
export const orNull = Object.fromEntries(
  Object.entries(kind).map(([name, of]) => [
    name,
    (note: string): ViewColumn => ({ ...of(note), isNullable: true }),
  ]),
) as typeof kind

/** Combines to that of several rows if each is weighted by the sum of these columns. */
export const weighted = (column: ViewColumn, ...weightedBy: readonly string[]): ViewColumn => ({
  ...column,
  aggregation: { weightedBy },
})

export const projectId = kind.key('the project that the row belongs to')

/** The note of a column, and for tools that do not show it otherwise how its values combine. */
export function describeColumn({ note, role, aggregation }: ViewColumn): string {
  if (role !== 'measure' || aggregation === 'sum') return note
  if (aggregation === 'distinct') return `${note}; counts different ones, so do not add it up`
  if (aggregation === 'none') return `${note}; do not add it up`
  return `${note}; combine it as a mean weighted by ${aggregation.weightedBy.join(' + ')}`
}

/** What an object is, and what it is not. */
export const describeObject = ({ note, caveat }: Pick<AnalyticsView, 'note' | 'caveat'>): string =>
  caveat === null ? note : `${note} ${caveat}`

export type AnalyticsTableName = keyof typeof analyticsTables

/** What the columns of a table are for tools. Only those that are numbers say it. */
export function tableColumns(name: AnalyticsTableName): Readonly<Record<string, ViewColumn>> {
  const { columns }: TableSpec = analyticsTables[name]
  const described = Object.entries(columns).map(([column, [declared, note, use = 'dimension']]) => {
    const type = plainType[declared]
    const role = roleOf(type, use)
    const unit =
      role === 'measure' && /(^|_)seconds(_|$)/.test(column) ? ('seconds' as const) : null
    const aggregation = use === 'dimension' ? 'none' : use
    return [
      column,
      { type, isNullable: declared.endsWith('?'), unit, note, role, aggregation },
    ] as const
  })
  return Object.fromEntries(described)
}

function roleOf(type: ColumnType, use: NumberUse): ViewColumn['role'] {
  if (type === 'utc_time' || type === 'local_date') return 'time'
  if (type === 'key') return 'key'
  return use === 'dimension' ? 'dimension' : 'measure'
}
