/** Opening a warehouse: errors are clear messages, and versions do not mix. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { searchIndexTable } from '../../schema/console-tables.ts'
import { migrationNames } from '../../schema/migrations/migrations.ts'
import { isPagedStream, streamNames, streamSpecs } from '../../schema/stream-specs.ts'
import { storedTables, tables } from '../../schema/tables.ts'
import { openWarehouse } from '../../src/app/open.ts'
import { streamTables } from '../../src/mirror/sql/stream-tables.ts'
import { UserError } from '../../src/values/user-error.ts'
import { explainOpenError } from '../../src/warehouse/explain-error.ts'
import { parseDatabaseUrl } from '../../src/warehouse/location.ts'
import { parsePostgresTime, splitPostgresUrl } from '../../src/warehouse/postgres.ts'
import { databases, type TestDatabase } from '../support/databases.ts'
import { freePort } from '../support/private-server.ts'
import { commit, visitor } from '../warehouse/row-fixtures.ts'
import { openTestWarehouse, sqlHelpers } from '../warehouse/test-warehouse.ts'

async function errorOf(work: Promise<unknown>): Promise<UserError> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof UserError)) throw new Error(`no UserError: ${error}`, { cause: error })
  return error
}

function createFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'deskmirror-open-'))
  onTestFinished(() => rmSync(path, { recursive: true }))
  return path
}

/** The tests' server, with another port, password, path or schema. */
function postgresUrl(change: {
  port?: string
  password?: string
  pathname?: string
  schema?: string
}): string {
  const { schema, ...parts } = change
  const url = Object.assign(new URL(inject('postgresUrl')), parts)
  if (schema !== undefined) url.searchParams.set('schema', schema)
  return url.href
}

/** Created by opening it, not copied. */
const openNewWarehouse = (db: TestDatabase) => openTestWarehouse({ make: db.makeEmpty })

for (const db of databases) {
  describe(`opening — ${db.name}`, () => {
    test('the migrations create exactly the described tables and columns', async () => {
      const { all, database } = await openNewWarehouse(db)
      const found =
        database.kind === 'sqlite'
          ? await all(
              "select m.name as t, c.name as c, c.pk > 0 as k from sqlite_master m join pragma_table_info(m.name) c where m.type = 'table'",
            )
          : await all(`select c.relname as t, a.attname as c, coalesce(a.attnum = any(i.indkey), false) as k
              from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
              left join pg_index i on i.indrelid = c.oid and i.indisprimary
              where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace`)
      const columns = (name: string) => found.filter((row) => row.t === name)
      for (const [name, table] of storedTables) {
        expect(
          columns(name)
            .map((row) => row.c)
            .sort(),
          name,
        ).toEqual(Object.keys(table.columns).sort())
        const key = columns(name).filter((row) => Boolean(row.k))
        const expected =
          database.kind === 'postgres' && table.postgresIndex !== undefined ? [] : table.key
        expect(key.map((row) => row.c).sort(), `key of ${name}`).toEqual([...expected].sort())
        if ('project_id' in table.columns) expect(table.key[0]).toBe('project_id')
      }
      const names = found
        .map((row) => String(row.t))
        .filter((name) => !name.startsWith(searchIndexTable))
      expect(new Set(names)).toEqual(
        new Set([...storedTables.map(([name]) => name), 'sync_schema']),
      )
    })

    test('the times of rows that are read in pages have indexes', async () => {
      const { all, database } = await openNewWarehouse(db)
      const indexes =
        database.kind === 'sqlite'
          ? await all("select sql from sqlite_master where type = 'index'")
          : await all('select indexdef as sql from pg_indexes where schemaname = current_schema()')
      const text = indexes.map((index) => index.sql).join('\n')
      for (const stream of streamNames.filter(isPagedStream)) {
        const { startColumn, timeColumn } = streamSpecs[stream]
        const table = streamTables[stream].stored
        for (const column of [startColumn, timeColumn].filter((name) => name !== null))
          expect(text).toMatch(new RegExp(`\\b${table}\\b[^(]*\\(project_id, ${column}\\)`))
      }
    })

    test('the first opening creates the schema, the next one finds it', async () => {
      const { database, warehouse } = await openNewWarehouse(db)
      const all = migrationNames
      expect(warehouse.migration).toMatchObject({ from: null, applied: all })
      expect((await database.open()).migration).toEqual({
        from: all.at(-1),
        to: all.at(-1),
        applied: [],
      })
    })

    test('processes that open an empty database at once all succeed', async () => {
      const database = await db.makeEmpty()
      onTestFinished(() => database.drop())
      const opened = await Promise.all([database.open(), database.open(), database.open()])
      expect(opened.filter(({ migration }) => (migration?.applied.length ?? 0) > 0)).toHaveLength(1)
    })

    test('a database of a newer version is rejected', async () => {
      const { database, all } = await openTestWarehouse(db)
      await all("insert into sync_schema (name) values ('9999_from_the_future')")
      const error = await errorOf(database.open())
      expect(error.exitCode).toBe(2)
      expect(error.why).toMatch(/newer version.*9999_from_the_future/)
    })
  })
}

test('a reader needs a database that has been mirrored into', async () => {
  const path = join(createFolder(), 'none.db')
  const missing = await errorOf(openWarehouse(`sqlite:${path}`, { access: 'read' }))
  expect(missing.next).toMatch(/deskmirror sync/)
  writeFileSync(path, '')
  expect((await errorOf(openWarehouse(`sqlite:${path}`, { access: 'read' }))).why).toMatch(
    /nothing has been mirrored/,
  )
  const written = await openWarehouse(`sqlite:${path}`)
  await written.close()
  await (await openWarehouse(`sqlite:${path}`, { access: 'read' })).close()
})

test('the message says what is wrong with a SQLite path', async () => {
  const own = createFolder()
  expect((await errorOf(openWarehouse(`sqlite:${own}/no/such/main.db`))).why).toMatch(
    /folder .*\/no\/such does not exist/,
  )
  expect((await errorOf(openWarehouse(`sqlite:${own}`))).why).toBe('it is a folder')
  writeFileSync(
    join(own, 'text.db'),
    'this is not a database, but text that is long enough to be one'.repeat(30),
  )
  expect((await errorOf(openWarehouse(`sqlite:${own}/text.db`))).why).toMatch(
    /not a SQLite database/,
  )
})

test('the message says that a folder is not writable', async () => {
  const own = join(createFolder(), 'closed')
  mkdirSync(own)
  chmodSync(own, 0o500)
  // Root may write everywhere, so for root the error is constructed.
  const error =
    process.getuid?.() === 0
      ? explainOpenError(
          { kind: 'sqlite', path: `${own}/main.db`, setting: '' },
          Object.assign(new Error(), { code: 'SQLITE_CANTOPEN' }),
        )
      : await errorOf(openWarehouse(`sqlite:${own}/main.db`))
  expect(error).toMatchObject({ exitCode: 2, next: expect.stringMatching(/writable/) })
})

test('for a Postgres that is down, trying again may help', async () => {
  const port = await freePort()
  const error = await errorOf(openWarehouse(postgresUrl({ port: String(port) })))
  expect(error).toMatchObject({ exitCode: 1, why: 'the server does not answer' })
  expect(error.what).toContain(`:${port}/postgres`)
})

test('a wrong password must be corrected, and is not printed', async () => {
  const error = await errorOf(openWarehouse(postgresUrl({ password: 'wr0ng' })))
  expect(error).toMatchObject({ exitCode: 2, why: 'the server refuses this user or this password' })
  expect(`${error.what}${error.why}${error.next}`).not.toContain('wr0ng')
})

test('the message names a missing password, database or schema', async () => {
  expect((await errorOf(openWarehouse(postgresUrl({ password: '' })))).exitCode).toBe(2)
  expect((await errorOf(openWarehouse(postgresUrl({ pathname: '/none' })))).why).toMatch(
    /no database/,
  )
  const error = await errorOf(openWarehouse(postgresUrl({ schema: 'none' })))
  expect(error).toMatchObject({ exitCode: 2, why: expect.stringMatching(/no schema/) })
})

test('a URL that names no database is rejected without quoting it', () => {
  for (const url of ['mysql://root:secret@host/db', 'sqlite:', 'main.db', 'postgres://[bad', '']) {
    expect(() => parseDatabaseUrl(url)).toThrow(UserError)
    expect(() => parseDatabaseUrl(url)).not.toThrow(/secret/)
  }
  expect(parseDatabaseUrl('sqlite:///var/main.db')).toMatchObject({
    kind: 'sqlite',
    path: '/var/main.db',
  })
})

test('readers and the writer do not block each other', async () => {
  const { database, mirror } = await openTestWarehouse(databases[0]!)
  const reader = sqlHelpers(await database.open())
  await mirror.commit(commit('visitors', [visitor('v1')]))
  await reader.all('begin')
  expect(await reader.count('visitors')).toBe(1)
  await mirror.commit(commit('visitors', [visitor('v2')]))
  expect(await reader.count('visitors')).toBe(1)
  await reader.all('commit')
  expect(await reader.count('visitors')).toBe(2)
})

test('after Postgres has dropped its connections, new ones are opened', async () => {
  const { database, mirror, count } = await openTestWarehouse(databases[1])
  await mirror.commit(commit('visitors', [visitor('v1')]))
  const other = sqlHelpers(await database.open())
  await other.all(`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()`)
  const commitAgain = async () => (await mirror.commit(commit('visitors', [visitor('v2')]))).changed
  // The first attempt may use a connection whose end has not arrived yet: an error that says that
  // trying again helps.
  const changed = await commitAgain().catch(async (error: unknown) => {
    expect(error).toMatchObject({ exitCode: 1 })
    return commitAgain()
  })
  expect([changed, await count('visitors')]).toEqual([1, 2])
})

test('times are read as UTC, whatever the server and the URL say', () => {
  expect(parsePostgresTime('2026-08-21 10:02:11.5+00')).toBe('2026-08-21T10:02:11Z')
  expect(parsePostgresTime('2026-08-21 10:02:11+02')).toBe('2026-08-21T08:02:11Z')
  expect(parsePostgresTime('2026-08-21 10:02:11+05:30')).toBe('2026-08-21T04:32:11Z')
  expect(parsePostgresTime('infinity')).toBe('9999-12-31T23:59:59Z')
  expect(parsePostgresTime('10000-01-01 00:00:00+00')).toBe('9999-12-31T23:59:59Z')
  expect(parsePostgresTime('0044-03-15 00:00:00+00 BC')).toBe('0001-01-01T00:00:00Z')
  expect(
    splitPostgresUrl('postgres://h/d?schema=My%20main&options=-c%20timezone%3DAsia/Tokyo'),
  ).toEqual({
    connectionString: 'postgres://h/d',
    options:
      '-c timezone=Asia/Tokyo -c timezone=UTC -c datestyle=ISO -c standard_conforming_strings=on -c search_path="My\\ main"',
    schema: 'My main',
  })
})

test('sslmode of the URL is respected, and a certificate file that it names must exist', async () => {
  expect(splitPostgresUrl('postgres://h/d?sslmode=require').connectionString).toBe(
    'postgres://h/d?sslmode=verify-full',
  )
  expect(splitPostgresUrl('postgres://h/d?sslmode=disable').connectionString).toBe(
    'postgres://h/d?sslmode=disable',
  )
  const at = (query: string) => errorOf(openWarehouse(`${inject('postgresUrl')}?${query}`))
  expect(await at('sslmode=require')).toMatchObject({
    exitCode: 2,
    why: 'the server does not support TLS',
  })
  expect(await at('sslrootcert=/nowhere.pem')).toMatchObject({
    exitCode: 2,
    why: expect.stringMatching(/sslrootcert/),
  })
})

test('what the URL does not say is not blamed on it', async () => {
  const url = postgresUrl({})
  const before = { ...process.env }
  onTestFinished(() => {
    for (const name of ['PGSSLMODE', 'PGPASSWORD', 'PGUSER']) delete process.env[name]
    Object.assign(process.env, before)
  })
  process.env['PGSSLMODE'] = 'require'
  const byVariable = await errorOf(openWarehouse(url))
  expect(byVariable).toMatchObject({
    exitCode: 2,
    next: 'unset PGSSLMODE, or enable TLS on the server',
  })
  const byUrl = await errorOf(openWarehouse(`${url}?sslmode=require`))
  expect(byUrl.next).toBe('remove sslmode in DESKMIRROR_DATABASE_URL, or enable TLS on the server')
  delete process.env['PGSSLMODE']
  process.env['PGPASSWORD'] = 'wr0ng'
  const password = await errorOf(openWarehouse(postgresUrl({ password: '' })))
  expect(password).toMatchObject({ exitCode: 2, next: expect.stringMatching(/PGPASSWORD/) })
})

test('a schema that is there, but not for this user, is not called missing', async () => {
  const database = await databases[1].make()
  onTestFinished(() => database.drop())
  const owner = await database.open()
  const role = `visitor_${process.pid}`
  await owner.query(`create role ${role} login password 'pw'`)
  onTestFinished(async () => {
    await owner.query(`drop role ${role}`)
  })
  await owner.query('create schema closed')
  await owner.query('revoke all on schema public from public')
  const at = (search: string) => {
    const url = Object.assign(new URL(database.url!), { username: role, password: 'pw', search })
    return errorOf(openWarehouse(url.href))
  }
  const of = (name: string) => ({
    exitCode: 2,
    why: `the user ${role} may not use the schema ${name}`,
    next: `let its owner run: grant usage, create on schema ${name} to ${role}`,
  })
  expect(await at('?schema=closed')).toMatchObject(of('closed'))
  expect(await at('')).toMatchObject(of('public'))
  expect((await at('?schema=none')).why).toMatch(/no schema of that name/)
})

test('the schema of the warehouse can have any name', async () => {
  const database = await databases[1].make()
  onTestFinished(() => database.drop())
  const creator = await database.open()
  const name = `Main "1" ${database.url?.slice(-6)}`
  await creator.query(`create schema "${name.replaceAll('"', '""')}"`)
  const url = new URL(database.url!)
  url.searchParams.set('schema', name)
  const warehouse = await openWarehouse(url.href)
  expect(await warehouse.query('select current_schema() as name')).toEqual([{ name }])
  await warehouse.close()
})

test('Postgres has the notes of the data dictionary as comments, which BI tools show', async () => {
  const database = await databases.find(({ name }) => name === 'postgres')!.make()
  const warehouse = await database.open()
  const [row] = await warehouse.query(
    `select col_description('conversations'::regclass, attnum) as note from pg_attribute
     where attrelid = 'conversations'::regclass and attname = 'handled_at'`,
  )
  expect(row).toEqual({ note: tables.conversations.columns.handled_at[1] })
  await database.drop()
})
