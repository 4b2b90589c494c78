/** The objects for analysts as a data model of Cube: dimensions, measures that may be added up, and joins. */
import { type AnalystRelation, analystObjects, relationsOf } from '../analytics-views/analyst-objects.ts'
import type { ViewColumn } from '../analytics-views/analytics-view.ts'
import type { AnalyticsObject } from '../analytics-views/layer.ts'
import type { ColumnType } from '../column-types.ts'

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
      ...Object.entries(columns).flatMap(describeMeasure),
    ],
  }
}

/** Cube joins correctly only where each row has one key. */
function rowKey({ key }: AnalyticsObject): unknown {
  const parts = key.map((column) => `cast({CUBE}.${column} as text)`)
  return { name: 'row_key', sql: parts.join(" || '/' || "), type: 'string', primary_key: true, public: false }
}

function describeDimension([name, { type, note }]: [string, ViewColumn]): unknown {
  const isDate = type === 'local_date' || type === 'date'
  return {
    name,
    sql: isDate ? `cast({CUBE}.${name} as timestamp)` : `{CUBE}.${name}`,
    type: cubeTypes[type],
    description: note,
  }
}

/** Medians, shares and states are dimensions only: adding them up would be wrong. */
function describeMeasure([name, { role, aggregation, note }]: [string, ViewColumn]): readonly unknown[] {
  if (role !== 'measure' || aggregation !== 'sum') return []
  return [{ name: `sum_of_${name}`, sql: `{CUBE}.${name}`, type: 'sum', description: note }]
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
