/**
 * The files for BI tools are made from the descriptions of the objects, and what they claim holds
 * in a mirror.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { charts, type StarterChart } from '../../src/analytics/starters/charts.ts'
import { metabaseQuery } from '../../src/analytics/starters/metabase.ts'
import { mayLeadNowhere } from '../../src/analytics/starters/models.ts'
import {
  analystObjectNames,
  analystObjects,
  relationsOf,
} from '../../src/analytics/views/all-views.ts'
import type { ViewColumn } from '../../src/analytics/views/view-spec.ts'
import { describeColumn } from '../../src/analytics/views/view-spec.ts'
import { openViewsWarehouse } from '../analytics/sql/view-fixtures.ts'
import { databases } from '../support/databases.ts'

const root = new URL('../..', import.meta.url).pathname
const yaml = (path: string) => parse(readFileSync(`${root}deploy/${path}`, 'utf8'))

type DbtTest =
  | string
  | Readonly<Record<string, { readonly arguments: { readonly columns?: readonly string[] } }>>
type DbtColumn = {
  readonly name: string
  readonly description: string
  readonly data_tests?: readonly DbtTest[]
}
type DbtTable = {
  readonly name: string
  readonly description: string
  readonly data_tests?: readonly DbtTest[]
  readonly columns: readonly DbtColumn[]
}
type Member = {
  readonly name: string
  readonly sql: string
  readonly type: string
  readonly primary_key?: true
}
type Cube = {
  readonly name: string
  readonly sql_table: string
  readonly joins?: readonly { readonly name: string; readonly sql: string }[]
  readonly dimensions: readonly Member[]
  readonly measures: readonly Member[]
}

const dbtTables: readonly DbtTable[] = yaml('dbt/models/sources.yml').sources[0].tables
const cubes: readonly Cube[] = yaml('cube/model/cubes/deskmirror.yml').cubes

test('the files are current', () => {
  const { status, stderr } = spawnSync(process.execPath, ['build/starters.ts', '--check'], {
    cwd: root,
  })
  expect({ status, stderr: String(stderr) }).toEqual({ status: 0, stderr: '' })
})

test('an analyst gets facts, dimensions and reports, and no text of messages', () => {
  expect(
    analystObjectNames.filter((name) => !/^(dim|fct|report)_|^_metabase_metadata$/.test(name)),
  ).toEqual([])
  expect(analystObjectNames.length).toBeGreaterThan(35)
  const columns = analystObjects.flatMap((object) => Object.keys(object.columns))
  expect(columns.filter((column) => /^(body|content|raw|text)$/.test(column))).toEqual([])
})

test('the dashboards read only what an analyst may read, and what an exported file holds', () => {
  for (const path of [
    'grafana/postgres/dashboards/support.json',
    'grafana/sqlite/dashboards/support.json',
    'metabase/dashboard.json',
  ]) {
    const sources = readFileSync(`${root}deploy/${path}`, 'utf8')
      .replaceAll('\\n', ' ')
      .matchAll(/\b(?:from|join) ([a-z]\w+)/g)
    const read = new Set(
      [...sources].map(([, name]) => name ?? '').filter((name) => name.includes('_')),
    )
    expect(read.size).toBeGreaterThan(8)
    expect([...read].filter((name) => !analystObjectNames.includes(name))).toEqual([])
  }
})

test('dbt and Cube know every object and every column, with what it means', () => {
  for (const { name, note, columns } of analystObjects) {
    const table = dbtTables.find((other) => other.name === name)
    expect(table?.description, name).toContain(note)
    expect(table?.columns.map((column) => [column.name, column.description])).toEqual(
      Object.entries(columns).map(([column, described]) => [column, describeColumn(described)]),
    )
    const cube = cubes.find((other) => other.name === name)
    expect(cube?.dimensions.slice(1).map((dimension) => dimension.name)).toEqual(
      Object.keys(columns),
    )
  }
})

test('a measure of Cube combines values as their column says, and only of rows that count different things', () => {
  for (const { name, columns, alternatives } of analystObjects) {
    const measures = cubes.find((cube) => cube.name === name)?.measures ?? []
    const named = (prefix: string) => measures.filter((measure) => measure.name.startsWith(prefix))
    const columnsWith = (isWanted: (aggregation: ViewColumn['aggregation']) => boolean) =>
      Object.keys(columns).filter((column) => isWanted(columns[column]?.aggregation ?? 'none'))
    expect(names(named('sum_of_'))).toEqual(
      columnsWith((is) => is === 'sum').map((column) => `sum_of_${column}`),
    )
    expect(names(named('mean_of_'))).toEqual(
      columnsWith((is) => typeof is === 'object').map((column) => `mean_of_${column}`),
    )
    for (const { sql } of [...named('sum_of_'), ...named('mean_of_')])
      for (const column of alternatives)
        expect(sql, name).toContain(`min({CUBE}.${column}) = max({CUBE}.${column})`)
  }
})

test('the dashboards and the answers of the documentation add up only what can be added up', () => {
  const documented = readFileSync(`${root}docs/analytics.md`, 'utf8').matchAll(/```sql\n(.*?)```/gs)
  const queries = [
    ...Object.values<StarterChart>(charts).map((chart) => metabaseQuery('postgres', chart)),
  ]
  for (const query of [...queries, ...[...documented].map(([, sql = '']) => sql)]) {
    const read = analystObjects.filter(({ name }) =>
      new RegExp(`\\b(from|join) ${name}\\b`).test(query),
    )
    for (const [, column = ''] of query.matchAll(/\bsum\((?:\w+\.)?(\w+)\)/g))
      for (const { columns } of read.filter((object) => column in object.columns))
        expect(columns[column]?.aggregation, `${column} in ${query}`).toBe('sum')
  }
})

test('an object has one join to another, and names in the model are unique', () => {
  for (const { name, joins = [], dimensions, measures } of cubes) {
    const targets = joins.map((join) => join.name)
    expect(new Set(targets).size, name).toBe(targets.length)
    const members = [...dimensions, ...measures].map((member) => member.name)
    expect(new Set(members).size, name).toBe(members.length)
  }
})

test('dbt tests the keys, and the columns that are never null', () => {
  for (const { name, key, columns } of analystObjects) {
    const table = dbtTables.find((other) => other.name === name)
    const tested = (test: string) =>
      names(table?.columns.filter(({ data_tests }) => data_tests?.includes(test)))
    expect(tested('not_null'), name).toEqual(
      Object.keys(columns).filter((column) => !columns[column]?.isNullable),
    )
    const keysOfSeveral = table?.data_tests?.map((test) =>
      typeof test === 'object' ? test.unique_key : undefined,
    )
    expect(keysOfSeveral?.[0]?.arguments.columns ?? tested('unique'), name).toEqual(key)
  }
})

function names(described: readonly { readonly name: string }[] = []): readonly string[] {
  return described.map(({ name }) => name)
}

for (const db of databases) {
  test(`relations lead to rows that exist, unless they only warn — ${db.name}`, async () => {
    const { all } = await openViewsWarehouse(db)
    for (const object of analystObjects) {
      for (const { column, target, targetColumn } of relationsOf(object)) {
        if (mayLeadNowhere(object.name, target)) continue
        const orphans =
          await all(`select distinct ${column} from ${object.name} where ${column} is not null
          and ${column} not in (select ${targetColumn} from ${target})`)
        expect(orphans, `${object.name}.${column}`).toEqual([])
      }
    }
  })
}

for (const db of databases.filter(({ name }) => name === 'postgres')) {
  test(`the SQL of the model for Cube can be run: dimensions, sums and joins — ${db.name}`, async () => {
    const { all } = await openViewsWarehouse(db)
    for (const { name, sql_table, dimensions, measures, joins = [] } of cubes) {
      const [rowKey] = dimensions.filter((dimension) => dimension.primary_key)
      const aggregates = measures.flatMap(({ type, sql }) =>
        type === 'number' ? [resolve(sql)] : [],
      )
      if (aggregates.length > 0) await all(`select ${aggregates.join(', ')} from ${sql_table} own`)
      const values = [...dimensions, ...measures.filter(({ type }) => type === 'sum')].map(
        ({ sql }) => resolve(sql),
      )
      const rows = await all(
        `select ${values.map((value, index) => `${value} as c${index}`).join(', ')} from ${sql_table} own`,
      )
      const keys = await all(
        `select distinct ${resolve(rowKey?.sql ?? '')} as k from ${sql_table} own`,
      )
      expect(keys, name).toHaveLength(rows.length)
      for (const join of joins) {
        const joined = await all(
          `select count(*) as n from ${sql_table} own left join ${join.name} on ${resolve(join.sql)}`,
        )
        // A join to one row never multiplies.
        expect(Number(joined[0]?.['n']), `${name} to ${join.name}`).toBe(rows.length)
      }
    }
  })

  test(`Cube shifts no date, whatever the time zone of the query — ${db.name}`, async () => {
    const { all } = await openViewsWarehouse(db)
    const date = cubes
      .find(({ name }) => name === 'dim_date')
      ?.dimensions.find(({ name }) => name === 'date')
    for (const zone of [
      'America/New_York',
      'UTC',
      'America/Santiago',
      'Australia/Sydney',
      'Pacific/Apia',
    ]) {
      const grouped = `cast(${inZone(resolve(date?.sql ?? '', zone), zone)} as date)`
      const days = await all(`select date, ${grouped} as grouped from dim_date own`)
      expect(days.length).toBeGreaterThan(1000)
      expect(days.filter((day) => day['grouped'] !== day['date']).slice(0, 3), zone).toEqual([])
    }
  })
}

/** As Cube does it for Postgres, with sessions in UTC. */
const inZone = (time: string, zone: string) =>
  `((${time} at time zone 'UTC') at time zone '${zone}')`

function resolve(sql: string, zone = 'America/New_York'): string {
  return sql
    .replaceAll('{CUBE}', 'own')
    .replaceAll(/\{SQL_UTILS\.convertTz\(f"(.*?)"\)\}/g, (_, time: string) => inZone(time, zone))
    .replaceAll(/\{(\w+)\}/g, '$1')
}
