/** The objects for analysts as sources of a dbt project, with their descriptions and tests. */

import { describeColumn } from '../views/analytics-view.ts'
import { type AnalyticsObject, analystObjects, relationOf } from '../views/layer.ts'

/**
 * Relations that may rightly lead nowhere: a conversation outlives its visitor, an agent is listed only if a human wrote in a
 * conversation of the agent, and a target may begin before the calendar.
 */
export function mayLeadNowhere(object: string, target: string): boolean {
  return target === 'dim_visitor' || target === 'dim_agent' || (object === 'dim_sla' && target === 'dim_date')
}

export function dbtSources(): unknown {
  return {
    version: 2,
    sources: [
      {
        name: 'deskmirror',
        description: 'The objects for analysts in the warehouse of deskmirror.',
        schema: "{{ var('deskmirror_schema', 'public') }}",
        tables: analystObjects.map(describeTable),
      },
    ],
  }
}

function describeTable({ name, note, caveat, key, columns }: AnalyticsObject): unknown {
  return {
    name,
    description: caveat === null ? note : `${note} ${caveat}`,
    // Keys of one column have a test of dbt's own.
    ...(key.length === 1 ? {} : { data_tests: [{ unique_key: { arguments: { columns: key } } }] }),
    columns: Object.entries(columns).map(([column, described]) => {
      const tests = [
        ...(described.isNullable ? [] : ['not_null']),
        ...(key.length === 1 && key[0] === column ? ['unique'] : []),
        ...relationTests(name, column),
      ]
      const description = describeColumn(described)
      return { name: column, description, ...(tests.length === 0 ? {} : { data_tests: tests }) }
    }),
  }
}

function relationTests(object: string, column: string): readonly unknown[] {
  const relation = relationOf(object, column)
  if (relation === null) return []
  const config = mayLeadNowhere(object, relation.object) ? { config: { severity: 'warn' } } : {}
  const target = { to: `source('deskmirror', '${relation.object}')`, field: relation.column }
  return [{ relationships: { arguments: target, ...config } }]
}
