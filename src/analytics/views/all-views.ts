/** Every object for analysts: the source of comments, dictionary and metadata for BI tools. */
import { analyticsTables } from '../../../schema/analytics-tables.ts'
import type { TableSpec } from '../../../schema/column-types.ts'
import { agentViews } from './agents.ts'
import { backlogViews } from './backlog.ts'
import { callViews } from './calls.ts'
import { conversationViews } from './conversations.ts'
import { dayViews } from './days.ts'
import { dimensions } from './dimensions.ts'
import { durationViews } from './durations.ts'
import { hourViews } from './hours.ts'
import { qualityViews } from './quality.ts'
import {
  type AnalyticsTableName,
  type AnalyticsView,
  describeColumn,
  tableColumns,
  type ViewColumn,
} from './view-spec.ts'
import { visitorViews } from './visitors.ts'
import { waitViews } from './waits.ts'

/** In the order in which they are created: a view comes after those that it reads. */
export const analyticsViews = {
  ...dimensions,
  ...callViews,
  ...waitViews,
  ...durationViews,
  ...conversationViews,
  ...backlogViews,
  ...dayViews,
  ...hourViews,
  ...agentViews,
  ...visitorViews,
  ...qualityViews,
} satisfies Record<string, AnalyticsView>

export type AnalyticsObject = Omit<
  Required<AnalyticsView>,
  'discovers' | 'discoversInRaw' | 'select'
> & {
  readonly name: string
  readonly type: 'table' | 'view'
}

/** Tables that only deskmirror itself needs. */
const bookkeepingTables: readonly string[] = [
  'facts_due',
  'facts_state',
  'call_fields',
  '_metabase_metadata',
]

const tableObjects = Object.entries<TableSpec>(analyticsTables)
  .filter(([name]) => !bookkeepingTables.includes(name))
  .map(([name, { note, key }]): AnalyticsObject => {
    const columns = tableColumns(name as AnalyticsTableName)
    return { name, type: 'table', note, caveat: null, key, alternatives: [], columns }
  })
const viewObjects = Object.entries<AnalyticsView>(analyticsViews).map(
  ([name, { note, caveat, key, alternatives = [], columns }]): AnalyticsObject => {
    return { name, type: 'view', note, caveat, key, alternatives, columns }
  },
)

export const analyticsObjects: readonly AnalyticsObject[] = [...tableObjects, ...viewObjects]

/** What an analyst may read: no message text, no bookkeeping, no queue of write-backs. */
export const analystObjects = analyticsObjects.filter(({ name }) => /^(dim|fct|report)_/.test(name))

export const analystObjectNames: readonly string[] = [
  ...analystObjects.map(({ name }) => name),
  '_metabase_metadata',
]

/** Also granted: the calendar that they are made with, and the rollups of the service. */
const alsoGranted = ['zone_offsets', 'business_spans', 'analytics_rollups', 'analytics_metrics']
export const grantedNames: readonly string[] = [...analystObjectNames, ...alsoGranted]

/**
 * Which column leads to which object, by name. Views have no keys, and a conversation may outlive
 * its visitor, so the database has no foreign keys for it.
 */
const targets: readonly (readonly [column: RegExp, object: string, targetColumn?: string])[] = [
  [/^project_id$/, 'dim_project'],
  [/^conversation_id$/, 'fct_conversation'],
  [/^visitor_id$/, 'dim_visitor'],
  [/^assigned_agent_id$/, 'dim_agent', 'agent_id'],
  [/^call_id$/, 'fct_call'],
  [/^sla$/, 'dim_sla', 'name'],
  [/(^|_)date$/, 'dim_date', 'date'],
  // A rate, such as answers per agent hour, is no hour of the day.
  [/^(?!.*_per_)(.*_)?hour$/, 'dim_hour', 'hour'],
]

/** Null: the column leads nowhere, or the object is the target itself. */
export function relationOf(object: string, column: string) {
  if (object === 'fct_conversation' && column === 'conversation_id')
    return { object: 'dim_conversation', column }
  if (object === 'dim_conversation' && column === 'conversation_id') return null
  const [, target, targetColumn = column] = targets.find(([pattern]) => pattern.test(column)) ?? []
  return target === undefined || target === object ? null : { object: target, column: targetColumn }
}

/** `sharesProject`: both have a `project_id`, which must be equal, too. */
export function relationsOf({ name, columns }: AnalyticsObject) {
  return Object.keys(columns).flatMap((column) => {
    const relation = relationOf(name, column)
    const target = analystObjects.find((object) => object.name === relation?.object)
    if (relation === null || target === undefined) return []
    const sharesProject =
      relation.column !== 'project_id' && 'project_id' in columns && 'project_id' in target.columns
    return [{ column, target: target.name, targetColumn: relation.column, sharesProject }]
  })
}

/** Most types Metabase guesses from the names of columns. */
const semanticTypes = { seconds: 'type/Duration', share: 'type/Percentage' } as const

/**
 * What Metabase reads from `_metabase_metadata` when it syncs a database. Source:
 * metabase/metabase, src/metabase/sync/sync_metadata/metabase_metadata.clj, read 2026-11-21.
 */
export function metabaseMetadata() {
  const rowsOf = (path: string, column: ViewColumn) => [
    { keypath: `${path}.description`, value: describeColumn(column) },
    ...(column.unit === null
      ? []
      : [{ keypath: `${path}.semantic_type`, value: semanticTypes[column.unit] }]),
  ]
  return analyticsObjects.flatMap(({ name, note, caveat, columns }) => [
    { keypath: `${name}.description`, value: note },
    ...(caveat === null ? [] : [{ keypath: `${name}.caveats`, value: caveat }]),
    ...Object.entries(columns).flatMap(([column, described]) =>
      rowsOf(`${name}.${column}`, described),
    ),
  ])
}
