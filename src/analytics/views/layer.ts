/** Every object for analysts, tables and views alike: the source of comments, dictionary and metadata for BI tools. */
import { analyticsTables } from '../../../schema/analytics-tables.ts'
import type { TableSpec } from '../../../schema/table-spec.ts'
import { analyticsViews } from './all-views.ts'
import type { AnalyticsView, ViewColumn } from './analytics-view.ts'
import { type AnalyticsTableName, describeTable } from './view-columns.ts'

export type AnalyticsObject = {
  readonly name: string
  readonly type: 'table' | 'view'
  readonly note: string
  readonly caveat: string | null
  readonly key: readonly string[]
  readonly alternatives: readonly string[]
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
  return { name, type: 'table', note, caveat: null, key, alternatives: [], columns: describeTable(name) }
})
const viewObjects = Object.entries<AnalyticsView>(analyticsViews).map(
  ([name, { note, caveat, key, alternatives = [], columns }]): AnalyticsObject => {
    return { name, type: 'view', note, caveat, key, alternatives, columns }
  },
)

export const analyticsObjects: readonly AnalyticsObject[] = [...tableObjects, ...viewObjects]

/**
 * Which column leads to which object. A column of the same name means the same everywhere, so names are enough. The
 * database has no foreign keys for them: views have no keys, and a conversation may outlive its visitor.
 */
type Relation = { readonly object: string; readonly column: string }

const targets: Readonly<Record<string, Relation>> = {
  project_id: { object: 'dim_project', column: 'project_id' },
  conversation_id: { object: 'fct_conversation', column: 'conversation_id' },
  visitor_id: { object: 'dim_visitor', column: 'visitor_id' },
  assigned_agent_id: { object: 'dim_agent', column: 'agent_id' },
  call_id: { object: 'fct_call', column: 'call_id' },
  sla: { object: 'dim_sla', column: 'name' },
}

/** Null: the column leads nowhere, or the object is the target itself. */
export function relationOf(object: string, column: string): Relation | null {
  if (object === 'fct_conversation' && column === 'conversation_id') return { object: 'dim_conversation', column }
  if (object === 'dim_conversation' && column === 'conversation_id') return null
  const target = targets[column] ?? relationByEnding(column)
  return target === null || target.object === object ? null : target
}

function relationByEnding(column: string): Relation | null {
  if (/(^|_)date$/.test(column)) return { object: 'dim_date', column: 'date' }
  // A rate, such as answers per agent hour, is no hour of the day.
  if (/(^|_)hour$/.test(column) && !column.includes('_per_')) return { object: 'dim_hour', column: 'hour' }
  return null
}

/**
 * What an analyst may read: facts, dimensions, reports, and their descriptions for Metabase. No message text, no
 * bookkeeping, no queue of write-backs.
 */
export const analystObjects: readonly AnalyticsObject[] = analyticsObjects.filter(({ name }) =>
  /^(dim|fct|report)_/.test(name),
)

export const analystObjectNames: readonly string[] = [...analystObjects.map(({ name }) => name), '_metabase_metadata']

export type AnalystRelation = {
  readonly column: string
  readonly target: string
  readonly targetColumn: string
  /** Both have a `project_id`, which must be equal, too. */
  readonly sharesProject: boolean
}

/** The columns of an object that lead to another one. */
export function relationsOf({ name, columns }: AnalyticsObject): readonly AnalystRelation[] {
  return Object.keys(columns).flatMap((column) => {
    const relation = relationOf(name, column)
    const target = analystObjects.find((object) => object.name === relation?.object)
    if (relation === null || target === undefined) return []
    const sharesProject = relation.column !== 'project_id' && 'project_id' in columns && 'project_id' in target.columns
    return [{ column, target: target.name, targetColumn: relation.column, sharesProject }]
  })
}
