/** Every object for analysts, tables and views alike: the source of comments, dictionary and metadata for BI tools. */
import { analyticsTables } from '../analytics-tables.ts'
import type { TableSpec } from '../table-spec.ts'
import { analyticsViews } from './all-views.ts'
import type { AnalyticsView, ViewColumn } from './analytics-view.ts'
import { type AnalyticsTableName, describeTable } from './table-columns.ts'

export type AnalyticsObject = {
  readonly name: string
  readonly type: 'table' | 'view'
  readonly note: string
  readonly caveat: string | null
  readonly key: readonly string[]
  readonly columns: Readonly<Record<string, ViewColumn>>
}

/** Tables that only deskmirror itself needs. */
const bookkeepingTables: ReadonlySet<AnalyticsTableName> = new Set([
  'facts_due',
  'facts_state',
  'call_fields',
  '_metabase_metadata',
])

const tableNames = (Object.keys(analyticsTables) as AnalyticsTableName[]).filter((name) => !bookkeepingTables.has(name))

const tableObjects = tableNames.map((name): AnalyticsObject => {
  const { note, key }: TableSpec = analyticsTables[name]
  return { name, type: 'table', note, caveat: null, key, columns: describeTable(name) }
})
const viewObjects = Object.entries<AnalyticsView>(analyticsViews).map(
  ([name, { note, caveat, key, columns }]): AnalyticsObject => ({ name, type: 'view', note, caveat, key, columns }),
)

export const analyticsObjects: readonly AnalyticsObject[] = [...tableObjects, ...viewObjects]
