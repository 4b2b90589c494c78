/** The databases that all warehouse tests run on: `for (const db of databases) test(…)`. */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { inject } from 'vitest'
import { openWarehouse, type Warehouse } from '../../src/app/open.ts'
import { sqliteTemplateForSandbox } from './sandbox-template.ts'
import {
  type Filling,
  postgresTemplate,
  sqliteTemplate,
  templateSchema,
  templateToken,
} from './warehouse-templates.ts'

/** A database for one test. */
export type DatabaseInstance = {
  readonly kind: 'sqlite' | 'postgres'
  readonly url: string
  /** Opens a warehouse; several may be open. `drop` closes them. */
  readonly open: () => Promise<Warehouse>
  readonly drop: () => Promise<void>
}

export type TestDatabase = {
  readonly name: DatabaseInstance['kind']
  /** A warehouse without rows, or with those of `filling`. */
  readonly make: (filling?: Filling) => Promise<DatabaseInstance>
  /** As `make`, for rows of the sandbox: it may have the columns that their fields become. */
  readonly makeForSandbox: () => Promise<DatabaseInstance>
  /** Without tables: for tests of what creates a warehouse. */
  readonly makeEmpty: () => Promise<DatabaseInstance>
}

export const databases: readonly [TestDatabase, TestDatabase] = [
  {
    name: 'sqlite',
    make: async (filling) => makeSqlite(await sqliteTemplate(filling)),
    makeForSandbox: async () => makeSqlite(await sqliteTemplateForSandbox()),
    makeEmpty: async () => makeSqlite(null),
  },
  {
    name: 'postgres',
    make: makeMigratedPostgres,
    makeForSandbox: () => makeMigratedPostgres(),
    makeEmpty: () => makePostgres(null),
  },
]

async function makeMigratedPostgres(filling?: Filling): Promise<DatabaseInstance> {
  return makePostgres(await postgresTemplate(filling))
}

function createInstance(
  kind: DatabaseInstance['kind'],
  url: string,
  open: () => Promise<Warehouse>,
  drop: () => Promise<void>,
): DatabaseInstance {
  const openWarehouses: Warehouse[] = []
  return {
    kind,
    url,
    open: async () => {
      const warehouse = await open()
      let closed: Promise<void> | undefined
      const closeOnce = () => {
        closed ??= warehouse.close()
        return closed
      }
      const opened = { ...warehouse, close: closeOnce }
      openWarehouses.push(opened)
      return opened
    },
    drop: async () => {
      for (const warehouse of openWarehouses) await warehouse.close()
      await drop()
    },
  }
}

function makeSqlite(template: string | null): DatabaseInstance {
  const folder = mkdtempSync(join(tmpdir(), 'deskmirror-sqlite-'))
  const path = join(folder, 'main.db')
  if (template !== null) writeCopy(template, path)
  return createInstance(
    'sqlite',
    `sqlite:${path}`,
    () => openWarehouse(`sqlite:${path}`),
    async () => rmSync(folder, { recursive: true }),
  )
}

const templates = new Map<string, { readonly bytes: Buffer; readonly tokenAt: number }>()

/**
 * With a name of its own, under which its sends are counted, as if it had been migrated by itself.
 */
function writeCopy(template: string, path: string): void {
  const { bytes, tokenAt } = templates.get(template) ?? readTemplate(template)
  bytes.write(randomUUID(), tokenAt)
  writeFileSync(path, bytes, { mode: 0o600 })
}

function readTemplate(path: string) {
  const bytes = readFileSync(path)
  const template = { bytes, tokenAt: bytes.indexOf(templateToken) }
  templates.set(path, template)
  return template
}

async function makePostgres(template: string | null): Promise<DatabaseInstance> {
  const database = await createDatabase(template ?? '')
  const url = new URL(database.url)
  url.searchParams.set('schema', templateSchema)
  if (template === null) await runAsAdmin(database.url, `create schema ${templateSchema}`)
  // See `writeCopy`.
  else
    await runAsAdmin(
      database.url,
      `update ${templateSchema}.sync_sends set token = '${randomUUID()}'`,
    )
  return createInstance('postgres', url.href, () => openWarehouse(url.href), database.drop)
}

type ServerDatabase = { readonly url: string; readonly drop: () => Promise<void> }

/** On the tests' Postgres. `options`: of `create database`. */
async function createDatabase(options: string): Promise<ServerDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await runOnServer(`create database ${name} ${options}`)
  const url = new URL(inject('postgresUrl'))
  url.pathname = `/${name}`
  return { url: url.href, drop: () => runOnServer(`drop database ${name} with (force)`) }
}

/** An empty one, for texts of that encoding. */
export function createDatabaseWith(encoding: string): Promise<ServerDatabase> {
  return createDatabase(
    encoding === 'UTF8'
      ? ''
      : `encoding '${encoding}' template template0 lc_collate 'C' lc_ctype 'C'`,
  )
}

let server: pg.Pool | undefined

/**
 * By one connection for all tests of this process, as opening one takes longer than most
 * statements.
 */
async function runOnServer(statement: string): Promise<void> {
  server ??= openServer()
  await server.query(statement)
}

function openServer(): pg.Pool {
  const connectionString = inject('postgresUrl')
  const pool = new pg.Pool({
    connectionString,
    max: 1,
    idleTimeoutMillis: 0,
    allowExitOnIdle: true,
  })
  // The next statement opens another one.
  return pool.on('error', () => {})
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
