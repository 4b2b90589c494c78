/**
 * A backup that is restored as docs/guide.md says is what it was. Other ways leave tables that
 * every command recognises.
 */
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { migrationNames, migrations } from '../../schema/migrations/migrations.ts'
import { openWarehouse } from '../../src/app/open.ts'
import { migrate } from '../../src/warehouse/migrate.ts'
import { runInProcess } from '../cli/run-in-process.ts'
import { type DatabaseInstance, databases } from '../support/databases.ts'
import { dumpPostgres, restorePostgres, restoreSqlite } from '../support/guide-backup.ts'
import { findPrograms } from '../support/postgres-server.ts'
import { sampled } from '../support/sampled.ts'
import { createTempFolder } from '../support/temp-folder.ts'
import { connect } from './plain-connection.ts'

const [sqlite, postgres] = databases

const project = {
  DESKMIRROR_BASE_URL: 'http://127.0.0.1:9',
  DESKMIRROR_PROJECT_ID: '7d1f4f6e-5a2b-4c3d-8e9f-0a1b2c3d4e5f',
  DESKMIRROR_API_KEY: 'svc_live_example',
}

const conversation = `insert into conversations (project_id, id, raw, synced_at, asked_at)
  values ('main', 'c', '{}', '2026-09-01T00:00:00Z', 1)`
const wait = `insert into fct_wait (project_id, conversation_id, wait_number, started_at, started_date, started_hour, messages,
  ended_by) values ('main', 'c', 1, '2026-09-01T00:00:00Z', '2026-09-01', 0, 1, 'nobody')`

type Version = 'older' | 'present'

/**
 * A warehouse with rows, and a dump of it. Nobody is connected to it. An older one lacks a view on
 * its tables.
 */
async function dumped(version: Version) {
  const database = await postgres.make()
  onTestFinished(database.drop)
  if (version === 'older') await query(database, 'drop view report_open cascade')
  await query(database, conversation)
  if (version === 'present') await query(database, wait)
  const folder = createTempFolder(onTestFinished)
  const dump = join(folder, 'deskmirror.dump')
  await dumpPostgres(database.url, dump)
  return { database, dump, folder }
}

async function query(database: DatabaseInstance, text: string) {
  const connection = await connect(database)
  const rows = await connection.query(text)
  await connection.close()
  return rows
}

test.for(sampled(['older', 'present'] as const, (version) => version === 'older'))(
  'a dump of the %s version over a warehouse of this version is restored as the guide says',
  async (version) => {
    const { database, dump } = await dumped(version)
    await (await database.open()).close()
    await query(database, conversation.replace("'c'", "'later'"))
    await restorePostgres(database.url, dump)
    const warehouse = await database.open()
    expect(await warehouse.query('select id from conversations')).toEqual([{ id: 'c' }])
    await warehouse.close()
  },
)

test('a file of SQLite is restored beside the rest of a killed process', async () => {
  const database = await sqlite.make()
  onTestFinished(database.drop)
  const [path, backup] = [database.url.slice('sqlite:'.length), join(createTempFolder(), 'backup')]
  await query(database, conversation)
  await query(database, `vacuum into '${backup}'`)
  const killed = `const file = new (require('better-sqlite3'))('${path}')
    file.exec("${conversation.replace("'c'", "'later'").replaceAll('\n', ' ')}")
    process.kill(process.pid, 'SIGKILL')`
  expect(spawnSync(process.execPath, ['-e', killed], { cwd: import.meta.dirname }).signal).toBe(
    'SIGKILL',
  )
  expect(statSync(`${path}-wal`).size).toBeGreaterThan(0)
  restoreSqlite(path, backup)
  expect(await query(database, 'select id from conversations')).toEqual([{ id: 'c' }])
})

type Restore = {
  readonly version: Version
  readonly into: 'existing' | 'empty'
  readonly args: readonly string[]
  /** What was not restored, of the list of contents. */
  readonly without?: RegExp
  readonly says: RegExp
}

/**
 * How people restore, and restores that ended early: tables are made first, then rows, keys,
 * indexes and triggers.
 */
const restores: Readonly<Record<string, Restore>> = {
  'an older dump over existing tables, with --clean': {
    version: 'older',
    into: 'existing',
    args: ['--clean', '--if-exists'],
    says: /no primary key on conversations,/,
  },
  'a dump over existing tables': {
    version: 'present',
    into: 'existing',
    args: [],
    says: /rows twice in fct_wait,/,
  },
  'tables without rows': {
    version: 'present',
    into: 'empty',
    args: ['--section=pre-data'],
    says: /it has .* and \d+ more, but no list of migrations,/,
  },
  'tables and rows': {
    version: 'present',
    into: 'empty',
    args: ['--section=pre-data', '--section=data'],
    says: /no primary key on sync_schema, .* and \d+ more,/,
  },
  'all but a table, an index and the triggers': {
    version: 'present',
    into: 'empty',
    args: [],
    without: /TABLE .*erased_ids|INDEX .*writebacks_by_ref|TRIGGER/,
    says: /no table erased_ids, index writebacks_by_ref and \d+ more,/,
  },
}

const sampledRestores = sampled(Object.entries(restores), (_, index) => index % 2 === 0)
for (const [what, { version, into, args, without, says }] of sampledRestores) {
  test(`${what}: each command says so, and changes nothing`, async () => {
    const { database, dump, folder } = await dumped(version)
    if (into === 'existing') await (await database.open()).close()
    else await query(database, 'drop schema warehouse cascade')
    const url = new URL(database.url)
    url.search = ''
    const programs = await findPrograms()
    const pgRestore = (...options: readonly string[]) =>
      spawnSync(join(programs, 'pg_restore'), [...options, dump], { encoding: 'utf8' }).stdout
    const contents = pgRestore('--list').split('\n')
    const list = join(folder, 'list')
    writeFileSync(list, contents.filter((line) => !without?.test(line)).join('\n'))
    pgRestore(...args, '--use-list', list, '--dbname', url.href)
    const countRows = () => query(database, 'select count(*) as rows from conversations')
    const before = await countRows()
    const env = { ...project, DESKMIRROR_DATABASE_URL: database.url }
    for (const command of ['migrate', 'status', 'sync', 'push', 'start']) {
      const { exit, err } = await runInProcess([command], { cwd: folder, env })
      expect([command, exit]).toEqual([command, 2])
      expect(err).toMatch(says)
    }
    expect(await countRows()).toEqual(before)
  })
}

test('what people made beside the tables is no fault: a virtual table whose module only they load', async () => {
  const database = await sqlite.make()
  onTestFinished(database.drop)
  const file = new Database(database.url.slice('sqlite:'.length))
  file.unsafeMode(true)
  file.exec(`pragma writable_schema = on;
    insert into sqlite_master values ('table', 'near', 'near', 0, 'create virtual table near using vec0(place)');
    pragma writable_schema = reset`)
  file.close()
  await (await openWarehouse(database.url, { access: 'read' })).close()
  await (await openWarehouse(database.url)).close()
  const { db, close } = await connect(database)
  expect(await migrate(db, 'sqlite', async () => {}, later)).toMatchObject({
    summary: { applied: ['9999_visits'] },
  })
  await close()
})

/** As a later version would have it. */
const later = { ...migrations, '9999_visits': {} }

const peoples: Readonly<Record<string, readonly [made: string, says: string]>> = {
  'a table': ['create table fct_visit (id integer primary key, place text)', 'a table fct_visit'],
  'a table without a key': ['create table fct_visit (place text)', 'a table fct_visit'],
  'a view': ["create view fct_visit as select 'x' as place", 'a view fct_visit'],
  'an index': [
    'create table places (place text); create index visitors_by_email on places (place)',
    'an index visitors_by_email',
  ],
}

for (const db of databases)
  test.for(Object.entries(peoples))(
    `%s of people that has a newer name is left alone — ${db.name}`,
    async ([, [made, says]]) => {
      const database = await db.make()
      onTestFinished(database.drop)
      const { db: connection, query: run, close } = await connect(database)
      // As a version left it that knew neither of the names.
      await run(`drop table fct_visit${db.name === 'postgres' ? ' cascade' : ''}`)
      await run('drop index visitors_by_email')
      for (const statement of made.split('; ')) await run(statement)
      const error = await migrate(connection, db.name, async () => {}, later).catch(
        (thrown: unknown) => thrown,
      )
      expect(error).toMatchObject({
        why: expect.stringContaining(`${says} that deskmirror did not create`),
        exitCode: 2,
      })
      expect(await run('select name from sync_schema')).toEqual(
        migrationNames.map((name) => ({ name })),
      )
      await close()
    },
  )

test.for(databases)(
  'a database of another program is not taken for a half restored one — $name',
  async (db) => {
    const database = await db.makeEmpty()
    onTestFinished(database.drop)
    await query(database, 'create table conversations (id integer primary key, title text)')
    await expect(database.open()).rejects.toMatchObject({
      why: expect.stringContaining('a table conversations that deskmirror did not create'),
      next: expect.stringContaining('schema'),
    })
  },
)

test('a schema may have any name, also before anything is in it', async () => {
  const database = await postgres.makeEmpty()
  onTestFinished(database.drop)
  await query(database, `create schema "Support-Team's"`)
  const url = new URL(database.url)
  url.searchParams.set('schema', "Support-Team's")
  await expect(openWarehouse(url.href, { access: 'read' })).rejects.toThrow(
    'nothing has been mirrored into it yet',
  )
})

test('a user who may read some of the tables reads these', async () => {
  const database = await postgres.make()
  const role = `reader_${randomUUID().replaceAll('-', '')}`
  onTestFinished(async () => {
    await query(database, `drop owned by ${role}`)
    await query(database, `drop role ${role}`)
    await database.drop()
  })
  await query(database, `create role ${role} login password 'x'`)
  await query(database, `grant usage on schema warehouse to ${role}`)
  await query(database, `grant select on all tables in schema warehouse to ${role}`)
  await query(database, `revoke select on fct_contribution from ${role}`)
  const url = new URL(database.url)
  Object.assign(url, { username: role, password: 'x' })
  const warehouse = await openWarehouse(url.href, { access: 'read' })
  expect(await warehouse.query('select count(*) as rows from conversations')).toEqual([{ rows: 0 }])
  await warehouse.close()
})
