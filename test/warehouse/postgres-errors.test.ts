/**
 * Errors of Postgres: the message says what to do, and the exit code whether trying again may help.
 */

import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { checkProject } from '../../src/app/check.ts'
import { openWarehouse } from '../../src/app/open.ts'
import { readStatus } from '../../src/maintenance/sql/status-report.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { UserError } from '../../src/values/user-error.ts'
import { configOf, projectConfigOf, syncOnce } from '../mirror/sync/sync-sandbox.ts'
import { createDatabaseWith } from '../support/databases.ts'

const role = `limited_${randomUUID().replaceAll('-', '')}`
let administrator: pg.Client
let own: Awaited<ReturnType<typeof createDatabaseWith>>
let sandbox: Sandbox
let url = ''

beforeAll(async () => {
  own = await createDatabaseWith('UTF8')
  administrator = new pg.Client({ connectionString: own.url })
  await administrator.connect()
  await administrator.query(
    `create role ${role} login password 'pw'; grant create on schema public to ${role}`,
  )
  url = Object.assign(new URL(own.url), { username: role, password: 'pw' }).href
  sandbox = await startSandbox({
    size: { conversations: 6, visitors: 3, calls: 2, days: 1 },
    switches: { 'rate.kind': 'off' },
  })
  await (await openWarehouse(url)).close()
})
afterAll(async () => {
  await sandbox.stop()
  await administrator.query(`drop owned by ${role}; drop role ${role}`)
  await administrator.end()
  await own.drop()
})

async function errorSentence(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => 'it worked',
    (thrown: unknown) => thrown,
  )
  return error instanceof UserError
    ? `${error.exitCode} ${error.why} → ${error.next}`
    : String(error)
}

function check() {
  const project = projectConfigOf(sandbox)
  const options = { signal: new AbortController().signal, log: pino({ level: 'silent' }) }
  return checkProject(configOf(url, project), project, options)
}

async function changeForTest(change: string, undo: string): Promise<void> {
  await administrator.query(change)
  onTestFinished(async () => void (await administrator.query(undo)))
}

test.each([
  [
    'default_transaction_read_only = on',
    /^2 the database is read-only: .* → name the primary server/,
  ],
  [
    'statement_timeout = 1',
    /^1 the server cancelled a statement: it took longer than statement_timeout.*alter role/,
  ],
])('with %s a sync says why it failed', async (setting, says) => {
  const reset = `alter role ${role} reset ${setting.split(' ')[0]}`
  await changeForTest(`alter role ${role} set ${setting}`, reset)
  expect(await errorSentence(syncOnce(url, sandbox, { mode: 'full' }))).toMatch(says)
})

test('a user who has reached the connection limit gets a clear message', async () => {
  await changeForTest(
    `alter role ${role} connection limit 0`,
    `alter role ${role} connection limit -1`,
  )
  expect(await errorSentence(syncOnce(url, sandbox))).toMatch(
    /^1 the server has no connections left → try again when/,
  )
  expect(await check()).toContainEqual(
    expect.objectContaining({ name: 'warehouse', state: 'error', retryable: true }),
  )
})

test('a sync succeeds with a single connection, even if it is terminated again and again', async () => {
  await changeForTest(
    `alter role ${role} connection limit 1`,
    `alter role ${role} connection limit -1`,
  )
  const end = () =>
    void administrator.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${role}'`,
    )
  let pages = 0
  const onProgress = () => ++pages % 10 === 0 && end()
  expect(await syncOnce(url, sandbox, { mode: 'full', onProgress })).toMatchObject({
    outcome: 'complete',
  })
})

test('a user without a permission gets a clear message, also during a sync', async () => {
  let pages = 0
  const onProgress = () =>
    ++pages === 5 &&
    void administrator.query(`alter table sync_cursors owner to ${administrator.user}`)
  onTestFinished(
    async () => void (await administrator.query(`alter table sync_cursors owner to ${role}`)),
  )
  const says = /^2 the user lacks a permission → make the user the owner of the schema/
  expect(await errorSentence(syncOnce(url, sandbox, { mode: 'full', onProgress }))).toMatch(says)
})

test('a missing table is reported as missing, not as a bug of deskmirror', async () => {
  await changeForTest(
    'alter table visitors rename to visitors_old',
    'alter table visitors_old rename to visitors',
  )
  expect(await errorSentence(syncOnce(url, sandbox, { mode: 'full' }))).toMatch(
    /^2 it has no table visitors/,
  )
})

test('a read-only mirror has a status, and commands that store their request budget there say why they cannot run', async () => {
  await changeForTest(
    `alter role ${role} set default_transaction_read_only = on`,
    `alter role ${role} reset all`,
  )
  const project = projectConfigOf(sandbox)
  const warehouse = await openWarehouse(url, { access: 'read' })
  expect(
    (await readStatus(warehouse.projectDb(project.projectId), Date.now(), project)).streams.length,
  ).toBeGreaterThan(0)
  await warehouse.close()
  expect(await errorSentence(check())).toMatch(/^2 the database is read-only/)
})
