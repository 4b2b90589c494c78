/** The files for BI tools are made from the descriptions of the objects, and what they claim holds in a mirror. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { analystObjectNames, analystObjects, relationsOf } from '../../schema/analytics-views/analyst-objects.ts'
import { mayLeadNowhere } from '../../schema/bi-tools/dbt-sources.ts'
import { databases, sqliteAndPostgres } from '../support/databases.ts'
import { openViewsWarehouse } from '../warehouse/analytics/view-fixtures.ts'

const root = new URL('../..', import.meta.url).pathname
const yaml = (path: string) => parse(readFileSync(`${root}deploy/${path}`, 'utf8'))

type DbtTest = string | Readonly<Record<string, { readonly arguments: { readonly columns?: readonly string[] } }>>
type DbtColumn = { readonly name: string; readonly description: string; readonly data_tests?: readonly DbtTest[] }
type DbtTable = {
  readonly name: string
  readonly description: string
  readonly data_tests?: readonly DbtTest[]
  readonly columns: readonly DbtColumn[]
}
type Member = { readonly name: string; readonly sql: string; readonly type: string; readonly primary_key?: true }
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
  const { status, stderr } = spawnSync(process.execPath, ['schema/starters.ts', '--check'], { cwd: root })
  expect({ status, stderr: String(stderr) }).toEqual({ status: 0, stderr: '' })
})

test('an analyst gets facts, dimensions and reports, and no text of messages', () => {
  expect(analystObjectNames.filter((name) => !/^(dim|fct|report)_|^_metabase_metadata$/.test(name))).toEqual([])
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
    const read = new Set([...sources].map(([, name]) => name ?? '').filter((name) => name.includes('_')))
    expect(read.size).toBeGreaterThan(8)
    expect([...read].filter((name) => !analystObjectNames.includes(name))).toEqual([])
  }
})

test('dbt and Cube know every object and every column, with what it means', () => {
  for (const { name, note, columns } of analystObjects) {
    const table = dbtTables.find((other) => other.name === name)
    expect(table?.description, name).toContain(note)
    expect(table?.columns.map((column) => [column.name, column.description])).toEqual(
      Object.entries(columns).map(([column, described]) => [column, described.note]),
    )
    const cube = cubes.find((other) => other.name === name)
    expect(cube?.dimensions.slice(1).map((dimension) => dimension.name)).toEqual(Object.keys(columns))
  }
})

test('no measure adds up what must not be added up', () => {
  for (const { name, columns } of analystObjects) {
    const sums = cubes.find((cube) => cube.name === name)?.measures.filter(({ type }) => type === 'sum') ?? []
    const summed = Object.entries(columns).filter(([, { aggregation }]) => aggregation === 'sum')
    expect(sums.map((measure) => measure.name)).toEqual(summed.map(([column]) => `sum_of_${column}`))
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
    const tested = (test: string) => namesOf(table?.columns.filter(({ data_tests }) => data_tests?.includes(test)))
    expect(tested('not_null'), name).toEqual(Object.keys(columns).filter((column) => !columns[column]?.isNullable))
    const keysOfSeveral = table?.data_tests?.map((test) => (typeof test === 'object' ? test.unique_key : undefined))
    expect(keysOfSeveral?.[0]?.arguments.columns ?? tested('unique'), name).toEqual(key)
  }
})

function namesOf(columns: readonly DbtColumn[] = []): readonly string[] {
  return columns.map(({ name }) => name)
}

for (const db of sqliteAndPostgres) {
  test(`relations lead to rows that exist, unless they only warn — ${db.name}`, async () => {
    const { all } = await openViewsWarehouse(db)
    for (const object of analystObjects) {
      for (const { column, target, targetColumn } of relationsOf(object)) {
        if (mayLeadNowhere(object.name, target)) continue
        const orphans = await all(`select distinct ${column} from ${object.name} where ${column} is not null
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
      const resolve = (sql: string) => sql.replaceAll('{CUBE}', 'own').replaceAll(/\{(\w+)\}/g, '$1')
      const [rowKey] = dimensions.filter((dimension) => dimension.primary_key)
      const values = [...dimensions, ...measures.filter(({ type }) => type === 'sum')].map(({ sql }) => resolve(sql))
      const rows = await all(
        `select ${values.map((value, index) => `${value} as c${index}`).join(', ')} from ${sql_table} own`,
      )
      const keys = await all(`select distinct ${resolve(rowKey?.sql ?? '')} as k from ${sql_table} own`)
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
}
