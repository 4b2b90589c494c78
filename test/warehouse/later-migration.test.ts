/**
 * What a later version's migration does to a warehouse with rows, while processes of the version
 * before may run.
 */
import { expect, onTestFinished, test } from 'vitest'
import type { Run } from '../../schema/create-missing.ts'
import { type Migration, migrationNames, migrations } from '../../schema/migrations/migrations.ts'
import { listStreamNames } from '../../schema/stream-specs.ts'
import { updateAnalyticsViews } from '../../src/analytics/sql/views.ts'
import { openMirror } from '../../src/app/facts.ts'
import { openWarehouse } from '../../src/app/open.ts'
import { migrate, requireCurrentSchema } from '../../src/warehouse/migrate.ts'
import { databases, type TestDatabase } from '../support/databases.ts'
import { connect } from './plain-connection.ts'
import { call, commit, conversation, timeAt, visitor } from './row-fixtures.ts'

const write = `insert into writebacks (project_id, operation, conversation_id, payload)
  values ('main', 'handled', '7d1f4f6e-5a2b-4c3d-8e9f-0a1b2c3d4e5f', '{"handled": true}')`

/**
 * A warehouse as a version would have left it that lacks a table, a column and an index of this
 * one, and has another index of the name of one of this one. People have added a column, an index
 * and a view.
 */
const olderSchema = [
  'drop table sync_seen_rows',
  'alter table sync_runs drop column lock_token',
  'drop index runs_by_end',
  'drop index gaps_closed',
  'create index gaps_closed on sync_gaps (found_at)',
  'alter table conversations add column team text',
  "update conversations set team = 'north'",
  'create index by_team on conversations (team)',
  'create view teams as select team, count(*) as conversations from conversations group by team',
]

const state = [
  'select * from conversations order by id',
  'select * from writebacks order by seq',
  'select * from writeback_events order by seq',
  'select * from teams',
  'select id, mode, started_at, requests from sync_runs',
]

async function openOlderWarehouse(db: TestDatabase) {
  const database = await db.make()
  onTestFinished(database.drop)
  const warehouse = await database.open()
  const mirror = openMirror(warehouse, 'main')
  await mirror.startRun('incremental', Date.parse(timeAt(0)))
  await mirror.commit(commit('conversations', [conversation('c1'), conversation('c2')]))
  for (const statement of [write, ...olderSchema]) await warehouse.query(statement)
  await warehouse.close()
  return database
}

/** A process of the version that has these migrations. */
async function openProcess(
  { kind, url }: Awaited<ReturnType<typeof openOlderWarehouse>>,
  migration: Migration,
) {
  const connection = await connect({ kind, url })
  onTestFinished(connection.close)
  const all = { ...migrations, '9999_lock_tokens': migration }
  return {
    ...connection,
    migrate: async () =>
      (await migrate(connection.db, kind, (trx) => updateAnalyticsViews(trx, kind), all)).summary,
    requireCurrentSchema: () => requireCurrentSchema(connection.db, kind, all),
  }
}

const dropChangedIndex = (run: Run) => run('drop index gaps_closed')
const fillTokens = (run: Run) =>
  run(`update sync_runs set lock_token = 'unknown', requests = requests + 1`)

const indexQueries = {
  sqlite: `select name, sql as made from sqlite_master where type = 'index' and sql is not null order by name`,
  postgres: `select indexname as name, indexdef as made from pg_indexes where schemaname = current_schema()
    order by indexname`,
} as const

for (const db of databases) {
  test(`it adds what is new, fills it in rows that are there, and leaves all else as it is — ${db.name}`, async () => {
    const fresh = await db.make()
    onTestFinished(fresh.drop)
    const expected = await (await fresh.open()).query(indexQueries[db.name])
    const process = await openProcess(await openOlderWarehouse(db), {
      before: dropChangedIndex,
      after: (run) => run(`update sync_runs set lock_token = 'unknown'`),
    })
    const before = await Promise.all(state.map(process.query))
    expect(before.map((rows) => rows.length)).toEqual([2, 1, 1, 1, 1])
    expect(await process.migrate()).toEqual({
      from: migrationNames.at(-1),
      to: '9999_lock_tokens',
      applied: ['9999_lock_tokens'],
    })
    expect(await Promise.all(state.map(process.query))).toEqual(before)
    expect(await process.query('select lock_token from sync_runs')).toEqual([
      { lock_token: 'unknown' },
    ])
    expect(await process.query('select count(*) as n from sync_seen_rows')).toEqual([{ n: 0 }])
    const indexes = await process.query(indexQueries[db.name])
    expect(indexes.filter(({ name }) => name !== 'by_team')).toEqual(expected)
    expect(indexes).toHaveLength(expected.length + 1)
    expect((await process.migrate()).applied).toEqual([])
    await process.query(write)
    expect(await process.query('select seq from writeback_events order by seq')).toHaveLength(2)
  })

  test(`a process of the version before refuses the warehouse from then on — ${db.name}`, async () => {
    const database = await openOlderWarehouse(db)
    const process = await openProcess(database, { before: dropChangedIndex, after: fillTokens })
    await process.migrate()
    const refusal = {
      why: 'it was written by a newer version of deskmirror (its schema has 9999_lock_tokens)',
      exitCode: 2,
    }
    await expect(database.open()).rejects.toMatchObject(refusal)
    await expect(openWarehouse(database.url, { access: 'read' })).rejects.toMatchObject(refusal)
  })

  test(`two processes at once migrate once — ${db.name}`, async () => {
    const database = await openOlderWarehouse(db)
    const migration = { before: dropChangedIndex, after: fillTokens }
    const processes = [
      await openProcess(database, migration),
      await openProcess(database, migration),
    ]
    const summaries = await Promise.all(processes.map((process) => process.migrate()))
    expect(summaries.map(({ applied }) => applied).toSorted()).toEqual([[], ['9999_lock_tokens']])
    expect(await processes[0]?.query('select requests from sync_runs')).toEqual([{ requests: 1 }])
  })

  test(`a reader says that the warehouse is to be migrated first, and changes nothing — ${db.name}`, async () => {
    const process = await openProcess(await openOlderWarehouse(db), { before: dropChangedIndex })
    await expect(process.requireCurrentSchema()).rejects.toMatchObject({
      why: `its schema is from an older version (${migrationNames.at(-1)})`,
      next: 'run `deskmirror migrate`',
      exitCode: 2,
    })
    await expect(process.query('select lock_token from sync_runs')).rejects.toThrow(/lock_token/)
    await process.migrate()
    await process.requireCurrentSchema()
  })

  test(`a step that fails leaves the warehouse as it was — ${db.name}`, async () => {
    const database = await openOlderWarehouse(db)
    const failing = await openProcess(database, {
      before: dropChangedIndex,
      after: async (run) => {
        await fillTokens(run)
        throw new Error('the disk is full')
      },
    })
    const before = await Promise.all([...state, indexQueries[db.name]].map(failing.query))
    await expect(failing.migrate()).rejects.toThrow('the disk is full')
    expect(await Promise.all([...state, indexQueries[db.name]].map(failing.query))).toEqual(before)
    const next = await openProcess(database, { before: dropChangedIndex, after: fillTokens })
    expect((await next.migrate()).applied).toEqual(['9999_lock_tokens'])
  })

  test(`a stream that is new is to be read of all parents that are there — ${db.name}`, async () => {
    const database = await db.make()
    onTestFinished(database.drop)
    const warehouse = await database.open()
    const mirror = openMirror(warehouse, 'main')
    await mirror.commit(commit('calls', [call('p1'), call('p2')]))
    await mirror.markDeleted('calls', 'p2', Date.parse(timeAt(60)))
    // As a version without recordings leaves it.
    await warehouse.query(`drop table call_recordings${db.name === 'postgres' ? ' cascade' : ''}`)
    await warehouse.query('delete from sync_children')
    await (await openProcess(database, {})).migrate()
    expect(await mirror.readPendingParents('call_recordings', Date.now() + 1000, 10)).toMatchObject(
      [{ parentId: 'p1', readVersion: 0 }],
    )
  })
}

for (const db of databases)
  test(`a warehouse without history gets its tables, with all rows as they are — ${db.name}`, async () => {
    const database = await db.make()
    onTestFinished(database.drop)
    const warehouse = await database.open()
    const { query } = warehouse
    await openMirror(warehouse, 'main').commit(commit('visitors', [visitor('v1', { plan: 'pro' })]))
    // As the version before leaves it.
    const views = (await query('select name from sync_views')).map(({ name }) => name).reverse()
    for (const view of ['sync_views', ...views]) await query(`drop view ${view}`)
    for (const list of listStreamNames) {
      await query(`drop table ${list}_history`)
      await query(`alter table ${list} drop column unchanged_since`)
    }
    await query(`delete from sync_schema where name = '0004_history'`)
    const stored = await query('select * from visitors')
    await warehouse.close()
    const later = await database.open()
    expect(await later.query('select * from visitors')).toMatchObject(stored)
    const history = openMirror(later, 'main', { history: ['visitors'] })
    await history.commit(commit('visitors', [visitor('v1', { plan: 'gold' })]))
    expect(
      await later.query('select plan from dim_visitor_history order by valid_from'),
    ).toHaveLength(2)
    expect(await later.query('select id, valid_from from visitors_history')).toMatchObject([
      { id: 'v1', valid_from: stored[0]?.synced_at },
    ])
  })
