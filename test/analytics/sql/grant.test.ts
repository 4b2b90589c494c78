/** `migrate --grant`: a role of Postgres reads the objects for analysts, and nothing else. */

import pg from 'pg'
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest'
import { grantToAnalyst } from '../../../src/analytics/sql/grant.ts'
import { grantedNames } from '../../../src/analytics/views/all-views.ts'
import { openWarehouse, type Warehouse } from '../../../src/app/open.ts'
import { createDatabaseWith, databases } from '../../support/databases.ts'
import { openTestWarehouse } from '../../warehouse/test-warehouse.ts'

const hostileNames = [
  'analyst',
  'An "Analyst"',
  'a; drop table messages; --',
  "o'clock $$ \\",
  'público',
]
const password = 'only for tests'

let database: Awaited<ReturnType<typeof createDatabaseWith>>
let warehouse: Warehouse
beforeAll(async () => {
  database = await createDatabaseWith('UTF8')
  warehouse = await openWarehouse(database.url)
})
afterAll(async () => {
  await warehouse.close()
  await database.drop()
})

/** A role that exists until the end of the test, and what it may ask. */
async function openWithRole(role: string) {
  const name = pg.escapeIdentifier(role)
  await warehouse.query(`create role ${name} login password '${password}'`)
  const asRole = new URL(database.url)
  asRole.username = encodeURIComponent(role)
  asRole.password = encodeURIComponent(password)
  const client = new pg.Client({ connectionString: asRole.href })
  await client.connect()
  onTestFinished(async () => {
    await client.end()
    await warehouse.query(`drop owned by ${name}`)
    await warehouse.query(`drop role ${name}`)
  })
  return async (text: string) => (await client.query(text)).rows
}

async function runAs(url: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

const listRelations = async () =>
  (
    await warehouse.query(`select relname as name from pg_class
      where relnamespace = current_schema()::regnamespace and relkind in ('r', 'v') order by relname`)
  ).map(({ name }) => String(name))

for (const role of hostileNames) {
  test(`the role reads every object for analysts and nothing else: ${role}`, async () => {
    const query = await openWithRole(role)
    await expect(query('select * from fct_wait')).rejects.toThrow('permission denied')
    expect(await grantToAnalyst(warehouse.db, warehouse.kind, role)).toEqual({
      role,
      granted: grantedNames,
      otherReadable: [],
    })
    for (const name of await listRelations()) {
      const read = query(`select * from ${name} limit 1`)
      if (grantedNames.includes(name)) await expect(read, name).resolves.toBeInstanceOf(Array)
      else await expect(read, name).rejects.toThrow('permission denied')
    }
    await expect(query('delete from fct_wait')).rejects.toThrow('permission denied')
  })
}

test('every fact, dimension and report of the database is granted', async () => {
  const granted =
    /^(dim|fct|report)_|^_metabase|^(zone_offsets|business_spans|analytics_rollups|analytics_metrics)$/
  const expected = (await listRelations()).filter((name) => granted.test(name))
  expect([...grantedNames].sort()).toEqual(expected)
})

test('a second grant changes nothing, and what the role could read before is said', async () => {
  await openWithRole('analyst before')
  await warehouse.query('grant select on messages to "analyst before"')
  const first = await grantToAnalyst(warehouse.db, warehouse.kind, 'analyst before')
  expect(first.otherReadable).toEqual(['messages'])
  expect(await grantToAnalyst(warehouse.db, warehouse.kind, 'analyst before')).toEqual(first)
})

test('a schema of its own is opened to the role, too', async () => {
  const { warehouse, database } = await openTestWarehouse(
    databases.find(({ name }) => name === 'postgres')!,
  )
  const role = 'analyst of a schema'
  await warehouse.query(`create role "${role}" login password '${password}'`)
  onTestFinished(
    async () => void (await runAs(inject('postgresUrl'), `drop role if exists "${role}"`)),
  )
  await grantToAnalyst(warehouse.db, warehouse.kind, role)
  const url = new URL(database.url!)
  const schema = url.searchParams.get('schema')
  url.search = ''
  url.username = encodeURIComponent(role)
  url.password = encodeURIComponent(password)
  expect(await runAs(url.href, `select * from ${schema}.fct_wait`)).toEqual([])
  await warehouse.query(`drop owned by "${role}"`)
})

test('a name that no role has exactly is refused, so that nothing is granted to everybody', async () => {
  const { warehouse } = await openTestWarehouse(databases.find(({ name }) => name === 'postgres')!)
  for (const role of ['public', 'PUBLIC', 'none', 'nobody here', 'x'.repeat(64), 'a\0b', ''])
    await expect(grantToAnalyst(warehouse.db, warehouse.kind, role), role).rejects.toMatchObject({
      name: 'UserError',
      exitCode: 2,
    })
})

test('in SQLite the error says what to do instead', async () => {
  const { warehouse } = await openTestWarehouse(databases[0]!)
  await expect(grantToAnalyst(warehouse.db, warehouse.kind, 'analyst')).rejects.toMatchObject({
    why: expect.stringContaining('SQLite has no roles'),
    next: expect.stringContaining(
      "`deskmirror export 'dim_*' 'fct_*' 'report_*' --output layer.db`",
    ),
    exitCode: 2,
  })
})
