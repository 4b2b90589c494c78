/** The objects for analysts as sources of dbt, and as a data model of Cube on Postgres. */

import { columnTypes } from '../../../schema/column-types.ts'
import {
  type AnalyticsObject,
  analystObjects,
  relationOf,
  relationsOf,
} from '../views/all-views.ts'
import { describeColumn, describeObject, type ViewColumn } from '../views/view-spec.ts'

/**
 * A conversation outlives its visitor, an agent is listed only if a human wrote, and a target may
 * begin before the calendar.
 */
export function mayLeadNowhere(object: string, target: string): boolean {
  return (
    target === 'dim_visitor' ||
    target === 'dim_agent' ||
    (object === 'dim_sla' && target === 'dim_date')
  )
}

export function dbtSources(): unknown {
  return {
    version: 2,
    sources: [
      {
        name: 'deskmirror',
        description: 'The objects for analysts in the warehouse of deskmirror.',
        schema: "{{ var('deskmirror_schema', 'public') }}",
        tables: analystObjects.map(describeSource),
      },
    ],
  }
}

function describeSource(object: AnalyticsObject): unknown {
  const { name, key, columns } = object
  return {
    name,
    description: describeObject(object),
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

/** By what a column is exported as. */
const cubeTypes = {
  text: 'string',
  json: 'string',
  boolean: 'boolean',
  integer: 'number',
  number: 'number',
  time: 'time',
  date: 'time',
} as const

/** Dimensions, measures as their columns combine, and joins. */
export function cubeModel(): unknown {
  return { cubes: analystObjects.map(describeCube) }
}

function describeCube(object: AnalyticsObject): unknown {
  const { name, key, columns } = object
  const joins = joinsOf(object)
  // Cube joins correctly only where each row has one key.
  const rowKey = key.map((column) => `cast({CUBE}.${column} as text)`).join(" || '/' || ")
  return {
    name,
    sql_table: name,
    description: describeObject(object),
    ...(joins.length === 0 ? {} : { joins }),
    dimensions: [
      { name: 'row_key', sql: rowKey, type: 'string', primary_key: true, public: false },
      ...Object.entries(columns).map(describeDimension),
    ],
    measures: [
      { name: 'rows_counted', type: 'count', description: 'Rows.' },
      ...Object.entries(columns).flatMap((column) => describeMeasures(object, column)),
    ],
  }
}

function describeDimension([name, column]: [string, ViewColumn]): unknown {
  const sql = column.type === 'local_date' ? noonOf(`{CUBE}.${name}`) : `{CUBE}.${name}`
  return {
    name,
    sql,
    type: cubeTypes[columnTypes[column.type].exported],
    description: describeColumn(column),
  }
}

/**
 * A date as its noon in the time zone of the query, to which Cube converts every time before it
 * groups by days: no change of clocks moves noon to another date. Source: cube-js/cube,
 * packages/cubejs-schema-compiler (1.7.43) and issue 10166, read 2026-11-23.
 */
function noonOf(date: string): string {
  const noon = `(${date} + time '12:00')`
  return `(${noon} + (${noon} - {SQL_UTILS.convertTz(f"${noon}")}))`
}

/** Medians and states are dimensions only: no tool can combine them. */
function describeMeasures(
  object: AnalyticsObject,
  [name, column]: [string, ViewColumn],
): readonly unknown[] {
  const { role, aggregation } = column
  const value = `{CUBE}.${name}`
  const description = describeColumn(column)
  if (
    role === 'key' &&
    name !== 'project_id' &&
    !(object.key.length <= 2 && object.key.includes(name))
  )
    return [{ name: `distinct_${name}`, sql: value, type: 'count_distinct', description }]
  if (role !== 'measure' || aggregation === 'none' || aggregation === 'distinct') return []
  if (aggregation === 'sum') {
    const isPlain = object.alternatives.length === 0
    const sum = isPlain ? value : ofOneAlternative(object, `sum(${value})`)
    return [{ name: `sum_of_${name}`, sql: sum, type: isPlain ? 'sum' : 'number', description }]
  }
  const weight = aggregation.weightedBy.map((column) => `{CUBE}.${column}`).join(' + ')
  const mean = `sum(${value} * (${weight})) / nullif(sum(case when ${value} is not null
    then ${weight} end), 0)`
  return [
    { name: `mean_of_${name}`, sql: ofOneAlternative(object, mean), type: 'number', description },
  ]
}

/**
 * Null if the rows differ in the columns to filter by: they count the same things several times.
 */
function ofOneAlternative({ alternatives }: AnalyticsObject, aggregate: string): string {
  if (alternatives.length === 0) return aggregate
  const agree = alternatives.map((column) => `min({CUBE}.${column}) = max({CUBE}.${column})`)
  return `case when ${agree.join(' and ')} then ${aggregate} end`
}

/**
 * Cube knows one join between two cubes: the first column that leads to an object. The name of a
 * target holds for several rows, which would multiply what is joined.
 */
function joinsOf(object: AnalyticsObject): readonly unknown[] {
  const first = Map.groupBy(relationsOf(object), ({ target }) => target)
  first.delete('dim_sla')
  return [...first.values()].flatMap(([relation]) => {
    if (relation === undefined) return []
    const { target, column, targetColumn, sharesProject } = relation
    const sameProject = sharesProject ? `{CUBE}.project_id = {${target}}.project_id and ` : ''
    const sql = `${sameProject}{CUBE}.${column} = {${target}}.${targetColumn}`
    return [{ name: target, relationship: 'many_to_one', sql }]
  })
}
