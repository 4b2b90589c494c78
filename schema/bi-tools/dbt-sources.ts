/** The objects for analysts as sources of a dbt project, with their descriptions and tests. */
import { analystObjects } from '../analytics-views/analyst-objects.ts'
import type { ViewColumn } from '../analytics-views/analytics-view.ts'
import type { AnalyticsObject } from '../analytics-views/layer.ts'
import { type Relation, relationOf } from '../analytics-views/relations.ts'

/** A conversation outlives its visitor, and an agent is listed only if a human wrote in a conversation of the agent. */
const objectsThatMayLackRows: ReadonlySet<string> = new Set(['dim_visitor', 'dim_agent'])

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
    columns: Object.entries(columns).map(([column, described]) =>
      describeColumn(column, described, key, relationOf(name, column)),
    ),
  }
}

function describeColumn(
  name: string,
  { note, isNullable }: ViewColumn,
  key: readonly string[],
  relation: Relation | null,
): unknown {
  const tests = [
    ...(isNullable ? [] : ['not_null']),
    ...(key.length === 1 && key[0] === name ? ['unique'] : []),
    ...(relation === null ? [] : [{ relationships: relationshipTest(relation) }]),
  ]
  return { name, description: note, ...(tests.length === 0 ? {} : { data_tests: tests }) }
}

function relationshipTest({ object, column }: Relation): unknown {
  return {
    arguments: { to: `source('deskmirror', '${object}')`, field: column },
    ...(objectsThatMayLackRows.has(object) ? { config: { severity: 'warn' } } : {}),
  }
}
