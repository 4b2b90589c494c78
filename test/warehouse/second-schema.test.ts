/**
 * In Postgres the search path of a role decides where tables are found, and it changes: no project
 * is mirrored twice because of that.
 */
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { openWarehouse } from '../../src/app/open.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { configOf, projectConfigOf, syncOnce } from '../mirror/sync/sync-sandbox.ts'
import { createDatabaseWith } from '../support/databases.ts'

const streams = ['conversations', 'visitors'] as const

async function startMirror() {
  const database = await createDatabaseWith('UTF8')
  onTestFinished(database.drop)
  const admin = new pg.Client({ connectionString: database.url })
  await admin.connect()
  onTestFinished(() => admin.end())
  const sandbox = await startSandbox({
    size: { conversations: 5, visitors: 5, calls: 0, messagesPerConversation: 3, days: 1 },
    switches: { 'rate.kind': 'off' },
  })
  onTestFinished(() => sandbox.stop())
  const sync = (url = database.url, of: Sandbox = sandbox) => syncOnce(url, of, { streams })
  await sync()
  const tablesIn = async (schema: string) => {
    const { rows } = await admin.query(
      `select count(*)::int as n from pg_tables where schemaname = '${schema}'`,
    )
    return rows[0].n
  }
  return { url: database.url, admin, sandbox, sync, tablesIn }
}

const at = (url: string, schema: string) => `${url}?schema=${schema}`

test('a schema with the name of the role, made later, changes nothing: neither for the next process nor for an open one', async () => {
  const { url, admin, sync, tablesIn } = await startMirror()
  const open = await openWarehouse(url)
  onTestFinished(open.close)
  const { rows } = await admin.query('select current_user as role')
  await admin.query(
    `create schema ${rows[0].role}; create table ${rows[0].role}.visitors (id text)`,
  )
  expect(await sync()).toMatchObject({ outcome: 'complete', changed: 0 })
  expect(await tablesIn(rows[0].role)).toBe(1)
  const counts = await Promise.all(
    [1, 2, 3].map(() => open.query('select count(*) as n from visitors')),
  )
  expect(counts).toEqual([1, 2, 3].map(() => [{ n: 5 }]))
})

test('a project that is mirrored in another schema is not mirrored anew, and the message says how to choose', async () => {
  const { url, admin, sandbox, sync, tablesIn } = await startMirror()
  const name = new URL(url).pathname.slice(1)
  await admin.query(`create schema elsewhere; alter database ${name} set search_path = elsewhere`)
  const error = {
    what: 'cannot tell which schema of the database is the warehouse',
    why: expect.stringContaining(
      `the project ${sandbox.projectId} is mirrored in the schema public`,
    ),
    next: expect.stringMatching(
      /\?schema=public .*\?schema=elsewhere for a mirror that begins anew/,
    ),
    exitCode: 2,
  }
  await expect(sync()).rejects.toMatchObject(error)
  const { projects } = configOf(url, projectConfigOf(sandbox))
  const readers = projects.map(({ projectId }) => projectId)
  await expect(openWarehouse(url, { access: 'read', projects: readers })).rejects.toMatchObject(
    error,
  )
  expect(await tablesIn('elsewhere')).toBe(0)
  expect(await sync(at(url, 'public'))).toMatchObject({ outcome: 'complete', changed: 0 })
  expect(await sync(at(url, 'elsewhere'))).toMatchObject({ outcome: 'complete', changed: 10 })

  // Now the search path leads to both, so that nobody knows which one is meant.
  await admin.query(`alter database ${name} set search_path = elsewhere, public`)
  await expect(sync()).rejects.toMatchObject({
    ...error,
    next: expect.stringContaining('?schema=elsewhere'),
  })
  // Outside of it, the other one may be a copy for something else.
  await admin.query(`alter database ${name} set search_path = elsewhere`)
  expect(await sync()).toMatchObject({ outcome: 'complete', changed: 0 })
})

test('a project that is not mirrored yet has its own schema beside that of another project', async () => {
  const { url, admin, sync, tablesIn } = await startMirror()
  const name = new URL(url).pathname.slice(1)
  await admin.query(`create schema elsewhere; alter database ${name} set search_path = elsewhere`)
  const size = { conversations: 3, visitors: 3, calls: 0, messagesPerConversation: 3, days: 1 }
  const other = await startSandbox({ seed: 77, size, switches: { 'rate.kind': 'off' } })
  onTestFinished(() => other.stop())
  expect(await sync(url, other)).toMatchObject({ outcome: 'complete', changed: 6 })
  expect(await tablesIn('elsewhere')).toBeGreaterThan(50)
})
