/** The databases that every suite of the warehouse runs on: `for (const db of databases) test(…)`. */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, inject } from 'vitest'
import { openWarehouse, type Warehouse, warehouseOver } from '../../src/warehouse/open.ts'
import { emptyPglite, pgliteSessions } from './pglite.ts'

/** An empty database of a test's own. */
export type Place = {
  readonly kind: 'sqlite' | 'postgres'
  /** For a warehouse of another process; null where there can be none (PGlite). */
  readonly url: string | null
  /** Opens a warehouse over it; several may be open. They are closed with the place. */
  readonly open: () => Promise<Warehouse>
  readonly drop: () => Promise<void>
}

export type TestDatabase = { readonly name: 'sqlite' | 'pglite' | 'postgres'; readonly make: () => Promise<Place> }

export const databases: readonly TestDatabase[] = [
  { name: 'sqlite', make: makeSqlite },
  { name: 'pglite', make: makePglite },
  { name: 'postgres', make: makePostgres },
]

function place(
  kind: Place['kind'],
  url: string | null,
  open: () => Promise<Warehouse>,
  drop: () => Promise<void>,
): Place {
  const opened: Warehouse[] = []
  return {
    kind,
    url,
    open: async () => {
      const warehouse = await open()
      opened.push(warehouse)
      return warehouse
    },
    drop: async () => {
      for (const warehouse of opened) await warehouse.close()
      await drop()
    },
  }
}

async function makeSqlite(): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'deskmirror-sqlite-'))
  const url = `sqlite:${join(folder, 'desk.db')}`
  return place(
    'sqlite',
    url,
    () => openWarehouse(url),
    async () => rmSync(folder, { recursive: true }),
  )
}

async function makePglite(): Promise<Place> {
  const database = await emptyPglite()
  return place(
    'postgres',
    null,
    () => warehouseOver(pgliteSessions(database)),
    async () => {},
  )
}

/** One database a test file, and a schema in it for each test. */
let ownDatabase: Promise<string> | undefined

async function makePostgres(): Promise<Place> {
  ownDatabase ??= createDatabase()
  const database = await ownDatabase
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await administer(database, `create schema ${name}`)
  const url = new URL(database)
  url.searchParams.set('schema', name)
  const drop = () => administer(database, `drop schema ${name} cascade`)
  return place('postgres', url.href, () => openWarehouse(url.href), drop)
}

async function createDatabase(): Promise<string> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await administer(inject('postgresUrl'), `create database ${name}`)
  const url = new URL(inject('postgresUrl'))
  url.pathname = `/${name}`
  return url.href
}

afterAll(async () => {
  if (ownDatabase === undefined) return
  const name = new URL(await ownDatabase).pathname.slice(1)
  await administer(inject('postgresUrl'), `drop database ${name} with (force)`)
})

/** A database of its own on the tests' Postgres. */
export async function databaseOf(
  encoding: string,
): Promise<{ readonly url: string; readonly drop: () => Promise<void> }> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  const how = encoding === 'UTF8' ? '' : `encoding '${encoding}' template template0 lc_collate 'C' lc_ctype 'C'`
  await administer(inject('postgresUrl'), `create database ${name} ${how}`)
  const url = new URL(inject('postgresUrl'))
  url.pathname = `/${name}`
  return { url: url.href, drop: () => administer(inject('postgresUrl'), `drop database ${name} with (force)`) }
}

async function administer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
