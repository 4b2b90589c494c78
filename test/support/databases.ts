/** The databases that all warehouse tests run on: `for (const db of databases) test(…)`. */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, inject } from 'vitest'
import { createWarehouse, openWarehouse, type Warehouse } from '../../src/warehouse/open.ts'
import { openPglitePool, resetPglite } from './pglite.ts'

/** An empty database for one test. */
export type DatabaseInstance = {
  readonly kind: 'sqlite' | 'postgres'
  /** For another process; null for PGlite, which runs within this process. */
  readonly url: string | null
  /** Opens a warehouse; several may be open. `drop` closes them. */
  readonly open: () => Promise<Warehouse>
  readonly drop: () => Promise<void>
}

export type TestDatabase = {
  readonly name: 'sqlite' | 'pglite' | 'postgres'
  readonly make: () => Promise<DatabaseInstance>
}

export const databases: readonly TestDatabase[] = [
  { name: 'sqlite', make: makeSqlite },
  { name: 'pglite', make: makePglite },
  { name: 'postgres', make: makePostgres },
]

/** For long tests of SQL that the others show to be the same in both kinds of Postgres. */
export const sqliteAndPostgres = databases.filter(({ name }) => name !== 'pglite')

function createInstance(
  kind: DatabaseInstance['kind'],
  url: string | null,
  open: () => Promise<Warehouse>,
  drop: () => Promise<void>,
): DatabaseInstance {
  const openWarehouses: Warehouse[] = []
  return {
    kind,
    url,
    open: async () => {
      const warehouse = await open()
      openWarehouses.push(warehouse)
      return warehouse
    },
    drop: async () => {
      for (const warehouse of openWarehouses) await warehouse.close()
      await drop()
    },
  }
}

async function makeSqlite(): Promise<DatabaseInstance> {
  const folder = mkdtempSync(join(tmpdir(), 'deskmirror-sqlite-'))
  const url = `sqlite:${join(folder, 'main.db')}`
  return createInstance(
    'sqlite',
    url,
    () => openWarehouse(url),
    async () => rmSync(folder, { recursive: true }),
  )
}

async function makePglite(): Promise<DatabaseInstance> {
  const database = await resetPglite()
  return createInstance(
    'postgres',
    null,
    () => createWarehouse(openPglitePool(database)),
    async () => {},
  )
}

/** One database per test file, with a schema for each test. */
let ownDatabase: ReturnType<typeof createDatabaseWith> | undefined

async function makePostgres(): Promise<DatabaseInstance> {
  ownDatabase ??= createDatabaseWith('UTF8')
  const { url: database } = await ownDatabase
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await runAsAdmin(database, `create schema ${name}`)
  const url = new URL(database)
  url.searchParams.set('schema', name)
  const drop = () => runAsAdmin(database, `drop schema ${name} cascade`)
  return createInstance('postgres', url.href, () => openWarehouse(url.href), drop)
}

afterAll(async () => (await ownDatabase)?.drop())

/** A new database on the tests' Postgres. */
export async function createDatabaseWith(
  encoding: string,
): Promise<{ readonly url: string; readonly drop: () => Promise<void> }> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  const options = encoding === 'UTF8' ? '' : `encoding '${encoding}' template template0 lc_collate 'C' lc_ctype 'C'`
  await runAsAdmin(inject('postgresUrl'), `create database ${name} ${options}`)
  const url = new URL(inject('postgresUrl'))
  url.pathname = `/${name}`
  return { url: url.href, drop: () => runAsAdmin(inject('postgresUrl'), `drop database ${name} with (force)`) }
}

async function runAsAdmin(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
