/** `check` says what the settings do with what is stored, before a sync does it. */
import { readdirSync, writeFileSync } from 'node:fs'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { streamNames } from '../../schema/stream-specs.ts'
import { checkWarehouse } from '../../src/app/check-warehouse.ts'
import { defaultConfig, defaultProject, type ProjectConfig } from '../../src/config/config.ts'
import type { ColumnRule } from '../../src/values/private-columns.ts'
import { secret } from '../../src/values/secret.ts'
import { projectConfigOf } from '../mirror/sync/sync-sandbox.ts'
import { createDatabaseWith } from '../support/databases.ts'
import { createTempFolder } from '../support/temp-folder.ts'
import { createPrivateFixture, rule, rules } from './private-columns-fixture.ts'

test('a rule of `columns` for a field that nothing has is doubted, with what may be meant', async () => {
  const { check, sync } = await createPrivateFixture('sqlite')
  const mistyped = [rule('visitors.emial', 'hash')]
  const doubted = async (columns: readonly ColumnRule[]) =>
    (await check(columns)).filter(({ name }) => name === 'columns')
  expect(await doubted(mistyped)).toMatchObject([
    {
      state: 'warning',
      detail: expect.stringMatching(/No stored row and .* has visitors\.emial$/),
      hint: expect.stringMatching(/^perhaps visitors\.email;/),
    },
  ])
  expect((await sync(mistyped)).notices.join()).toMatch(
    /No row has shown visitors\.emial so far, .*\(perhaps visitors\.email\)/,
  )
  expect(await doubted(mistyped)).toMatchObject([{ state: 'warning' }])
  const named = ['visitors.email', '*.url', 'visitors.Custom_Fields', 'analytics.conversations']
  expect(await doubted(named.map((name) => rule(name, 'block')))).toMatchObject([{ state: 'ok' }])
})

test('of a warehouse that cannot be read, nothing is said about its rows', async () => {
  const file = `${createTempFolder()}/mirror.db`
  const project = defaultProject({
    name: 'main',
    projectId: '00000000-0000-4000-8000-000000000000',
    baseUrl: new URL('http://127.0.0.1:9/v1'),
    apiKey: secret('svc_live_x'),
    columns: [rule('visitors.custom_fields.phone', 'block')],
  })
  writeFileSync(file, 'no database'.repeat(100))
  const config = defaultConfig({ projects: [project], databaseUrl: `sqlite:${file}` })
  expect(await checkWarehouse(config, project)).toMatchObject([
    { name: 'warehouse', state: 'error' },
    { name: 'columns', state: 'ok' },
  ])
})

test('a warehouse that a sync could not make or write is an error, and nothing is made', async () => {
  const check = async (databaseUrl: string) => {
    const project = defaultProject({
      name: 'main',
      projectId: '00000000-0000-4000-8000-000000000000',
      baseUrl: new URL('http://127.0.0.1:9/v1'),
      apiKey: secret('svc_live_x'),
    })
    const [item] = await checkWarehouse(
      defaultConfig({ projects: [project], databaseUrl }),
      project,
    )
    return item
  }
  const folder = createTempFolder()
  expect(await check(`sqlite:${folder}/none/mirror.db`)).toMatchObject({
    state: 'error',
    detail: expect.stringContaining(`the folder ${folder}/none does not exist`),
  })
  expect(await check(`sqlite:${folder}/mirror.db`)).toMatchObject({ state: 'ok' })
  expect(readdirSync(folder)).toEqual([])
  const latin = await createDatabaseWith('LATIN1')
  onTestFinished(latin.drop)
  expect(await check(latin.url)).toMatchObject({ detail: expect.stringContaining('LATIN1') })
  const utf8 = await createDatabaseWith('UTF8')
  onTestFinished(utf8.drop)
  expect(await check(utf8.url)).toMatchObject({
    state: 'ok',
    detail: expect.stringMatching(/^empty/),
  })
  const readOnly = new URL(utf8.url)
  readOnly.searchParams.set('options', '-c default_transaction_read_only=on')
  expect(await check(readOnly.href)).toMatchObject({
    state: 'error',
    detail: expect.stringContaining('the database is read-only'),
  })
  const client = new pg.Client({ connectionString: utf8.url })
  await client.connect()
  onTestFinished(() => client.end())
  const role = `reader_${process.pid}`
  await client.query(`create role ${role} login password 'x'`)
  onTestFinished(() => client.query(`drop role ${role}`).then(() => {}))
  const reader = new URL(utf8.url)
  reader.username = role
  reader.password = 'x'
  expect(await check(reader.href)).toMatchObject({
    state: 'error',
    detail: expect.stringContaining('the user lacks a permission'),
  })
})

test('a field of calls or entries that no stored one has is doubted, as its numbers are none', async () => {
  const { check, sync, sandbox } = await createPrivateFixture('sqlite')
  const { analytics } = projectConfigOf(sandbox)
  const doubted = async (calls: object, activityKind: string) => {
    const fields = { ...analytics.fields, activityKind }
    const over = { analytics: { ...analytics, calls: { ...analytics.calls, ...calls }, fields } }
    return (await check([], over)).filter(({ name }) => name === 'analytics')
  }
  expect(await doubted({ visitor: 'nobody' }, 'type')).toEqual([])
  await sync(rules.none)
  expect(
    await doubted({ visitor: 'visitorId', agent: 'agent', outcome: 'status' }, 'type'),
  ).toEqual([])
  expect(await doubted({ visitor: 'visitor_id', agent: 'agent.nam' }, 'typo')).toMatchObject([
    {
      state: 'warning',
      detail: expect.stringMatching(
        /has calls\.visitor_id, calls\.agent\.nam, visitor_activity\.typo:/,
      ),
      hint: expect.stringMatching(/^perhaps .*calls\.agent\.name/),
    },
  ])
})

test('what is removed, read again and derived again is announced with its rows', async () => {
  const { check, checkColumns, sync } = await createPrivateFixture('sqlite')
  const announced = async (columns: typeof rules.all | [], over: Partial<ProjectConfig> = {}) =>
    (await check(columns, over)).filter(({ name }) => ['facts', 'time zone'].includes(name))
  await sync(rules.none)
  expect(await announced([])).toEqual([])
  expect(await checkColumns([])).toEqual([])

  const streams = streamNames.filter((name) => name !== 'messages')
  expect(await checkColumns(rules.all, { streams })).toMatchObject([
    {
      state: 'warning',
      detail: expect.stringMatching(
        /stored: messages\.content, messages\.senderdisplayname in at most \d+ rows, no longer mirrored; .*visitors\.name in at most 6 rows; visitor_activity/,
      ),
    },
  ])
  await sync(rules.all)
  expect(await checkColumns(rules.all)).toEqual([])
  const otherKey = { hashKey: secret('another key of the installation') }
  expect(await checkColumns(rules.all, otherKey)).toMatchObject([
    {
      detail: expect.stringMatching(
        /with another hash.*reads all of it again.*6 rows of visitors.*replaced versions lose their hashes/,
      ),
    },
  ])
  expect(await announced([], { timeZone: 'Asia/Tokyo' })).toMatchObject([
    { name: 'time zone', state: 'error', detail: expect.stringContaining('Asia/Tokyo') },
    { name: 'facts', state: 'warning', detail: expect.stringContaining('12 conversations') },
  ])
})
