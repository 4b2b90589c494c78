/** The objects for analysts as a data model of Cube on Postgres: dimensions, measures as their columns combine, and joins. */

import type { ColumnType } from '../../../schema/column-types.ts'
import type { ViewColumn } from '../views/analytics-view.ts'
import { describeColumn } from '../views/analytics-view.ts'
import { type AnalystRelation, type AnalyticsObject, analystObjects, relationsOf } from '../views/layer.ts'

const cubeTypes: Readonly<Record<ColumnType, string>> = {
  key: 'string',
  text: 'string',
  json: 'string',
  uuid: 'string',
  integer: 'number',
  int32: 'number',
  number: 'number',
  boolean: 'boolean',
  time: 'time',
  utc_time: 'time',
  date: 'time',
  local_date: 'time',
}

/** A name that holds for several rows would multiply the rows that are joined with it. */
const ambiguousTargets: ReadonlySet<string> = new Set(['dim_sla'])

export function cubeModel(): unknown {
  return { cubes: analystObjects.map(describeCube) }
}

function describeCube(object: AnalyticsObject): unknown {
  const { name, note, caveat, columns } = object
  const joins = joinsOf(object)
  return {
    name,
    sql_table: name,
    description: caveat === null ? note : `${note} ${caveat}`,
    ...(joins.length === 0 ? {} : { joins }),
    dimensions: [rowKey(object), ...Object.entries(columns).map(describeDimension)],
    measures: [
      { name: 'rows_counted', type: 'count', description: 'Rows.' },
      ...Object.entries(columns).flatMap((column) => describeMeasures(object, column)),
    ],
  }
}

/** Cube joins correctly only where each row has one key. */
function rowKey({ key }: AnalyticsObject): unknown {
  const parts = key.map((column) => `cast({CUBE}.${column} as text)`)
  return { name: 'row_key', sql: parts.join(" || '/' || "), type: 'string', primary_key: true, public: false }
}

function describeDimension([name, column]: [string, ViewColumn]): unknown {
  const sql = column.type === 'local_date' ? noonOf(`{CUBE}.${name}`) : `{CUBE}.${name}`
  return { name, sql, type: cubeTypes[column.type], description: describeColumn(column) }
}

/**
 * A date as its noon in the time zone of the query: Cube knows no dates, and converts every time from UTC to that zone before
 * it groups by days. In no zone does the change of the clocks move noon to another date.
 * Source: cube-js/cube, packages/cubejs-schema-compiler (1.7.43) and issue 10166, read 2026-11-23.
 */
function noonOf(date: string): string {
  const noon = `(${date} + time '12:00')`
  return `(${noon} + (${noon} - {SQL_UTILS.convertTz(f"${noon}")}))`
}

/** Medians and states are dimensions only: no tool can combine them. */
function describeMeasures(object: AnalyticsObject, [name, column]: [string, ViewColumn]): readonly unknown[] {
  const { role, aggregation } = column
  const value = `{CUBE}.${name}`
  const description = describeColumn(column)
  if (role === 'key' && name !== 'project_id' && !(object.key.length <= 2 && object.key.includes(name)))
    return [{ name: `distinct_${name}`, sql: value, type: 'count_distinct', description }]
  if (role !== 'measure' || aggregation === 'none' || aggregation === 'distinct') return []
  if (aggregation === 'sum') {
    const sum = { name: `sum_of_${name}`, sql: value, type: 'sum', description }
    return [
      object.alternatives.length === 0
        ? sum
        : { ...sum, sql: ofOneAlternative(object, `sum(${value})`), type: 'number' },
    ]
  }
  const weight = aggregation.weightedBy.map((column) => `{CUBE}.${column}`).join(' + ')
  const mean = `sum(${value} * (${weight})) / nullif(sum(case when ${value} is not null then ${weight} end), 0)`
  return [{ name: `mean_of_${name}`, sql: ofOneAlternative(object, mean), type: 'number', description }]
}

/** Null unless the rows agree in the columns to be filtered by: else they count the same things several times. */
function ofOneAlternative({ alternatives }: AnalyticsObject, aggregate: string): string {
  if (alternatives.length === 0) return aggregate
  const agree = alternatives.map((column) => `min({CUBE}.${column}) = max({CUBE}.${column})`)
  return `case when ${agree.join(' and ')} then ${aggregate} end`
}

/** Cube knows one join between two cubes: of several columns that lead to one object the first counts. */
function joinsOf(object: AnalyticsObject): readonly unknown[] {
  const first = new Map<string, AnalystRelation>()
  for (const relation of relationsOf(object)) {
    if (ambiguousTargets.has(relation.target) || first.has(relation.target)) continue
    first.set(relation.target, relation)
  }
  return [...first.values()].map(({ target, column, targetColumn, sharesProject }) => {
    const conditions = [
      ...(sharesProject ? [`{CUBE}.project_id = {${target}}.project_id`] : []),
      `{CUBE}.${column} = {${target}}.${targetColumn}`,
    ]
    return { name: target, relationship: 'many_to_one', sql: conditions.join(' and ') }
  })
}
