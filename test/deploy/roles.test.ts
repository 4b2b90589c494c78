/** The roles of a new Postgres of docker-compose.yml, on a real one. */

import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { grantToAnalyst } from '../../src/analytics/sql/grant.ts'
import { openWarehouse } from '../../src/app/open.ts'
import { type PrivatePostgres, startPrivatePostgres } from '../support/postgres-server.ts'
import { findProgram } from '../support/private-server.ts'
import { createTempFolder } from '../support/temp-folder.ts'

const script = new URL('../../deploy/postgres/roles.sql', import.meta.url).pathname
const folder = createTempFolder(afterAll)
let server: PrivatePostgres

/** The test server has a superuser with the owner's name. */
const owner = 'warehouse_owner'

beforeAll(async () => {
  server = await startPrivatePostgres()
  for (const name of ['warehouse', 'reader', 'analyst', 'metabase'])
    writeFileSync(join(folder, `${name}-password`), `${name}'s own`)
  const text = readFileSync(script, 'utf8').replaceAll('/run/secrets', folder)
  const file = join(folder, 'roles.sql')
  writeFileSync(
    file,
    text
      .replace(/\brole deskmirror\b/g, `role ${owner}`)
      .replace('owner deskmirror', `owner ${owner}`),
  )
  const psql =
    findProgram('psql', ['/usr/lib/postgresql/*/bin', '/opt/homebrew/opt/postgresql@*/bin']) ??
    'psql'
  execFileSync(psql, ['-v', 'ON_ERROR_STOP=1', '-d', server.url, '-f', file], { stdio: 'pipe' })
  const warehouse = await openWarehouse(url(owner, 'warehouse', 'deskmirror'))
  await grantToAnalyst(warehouse.db, warehouse.kind, 'analyst')
  await warehouse.close()
})

afterAll(() => server.stop())

test('the reader sees every table that deskmirror creates', async () => {
  const tables = await as('reader', 'deskmirror', (client) =>
    client.query(
      "select has_table_privilege(c.oid, 'select') as may from pg_class c where relkind in ('r', 'v') and relnamespace = 'public'::regnamespace",
    ),
  )
  expect(tables.rows.length).toBeGreaterThan(10)
  expect(tables.rows.filter(({ may }) => !may)).toEqual([])
})

test('the reader changes nothing, even in a transaction that allows writes', async () => {
  const writes = [
    'delete from conversations',
    'create table mine (a int)',
    'create temp table mine (a int)',
  ]
  for (const write of writes)
    await expect(
      as('reader', 'deskmirror', (client) => client.query(`begin read write; ${write}`)),
      write,
    ).rejects.toThrow(/permission denied/)
})

test('the analyst reads the objects for analysts and nothing else', async () => {
  const read = (table: string) =>
    as('analyst', 'deskmirror', (client) => client.query(`select * from ${table}`))
  expect((await read('report_day')).rows).toEqual([])
  for (const table of ['messages', 'conversations', 'writebacks'])
    await expect(read(table), table).rejects.toThrow(/permission denied/)
  await expect(read('fct_wait; create temp table mine (a int)')).rejects.toThrow(
    /permission denied|read-only/,
  )
})

test.each(['reader', 'analyst'])(
  'a statement of the %s does not fill the disk, and none lifts that limit',
  async (role) => {
    const show = await as(role, 'deskmirror', (client) =>
      client.query(
        `select current_setting('temp_file_limit') as disk, current_setting('work_mem') as memory`,
      ),
    )
    expect(show.rows).toEqual([{ disk: '4GB', memory: '16MB' }])
    const lift = as(role, 'deskmirror', (client) => client.query('set temp_file_limit = -1'))
    await expect(lift).rejects.toThrow(/permission denied/)
  },
)

test("only Metabase can use Metabase's own database", async () => {
  await expect(as('reader', 'metabase', (client) => client.query('select 1'))).rejects.toThrow(
    /permission denied/,
  )
  await as('metabase', 'metabase', (client) => client.query('create table own (a int)'))
})

function url(user: string, name: string, database: string): string {
  const { host } = new URL(server.url)
  return `postgres://${user}:${encodeURIComponent(`${name}'s own`)}@${host}/${database}`
}

async function as<T>(
  user: string,
  database: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: url(user, user, database) })
  try {
    await client.connect()
    return await work(client)
  } finally {
    await client.end()
  }
}
