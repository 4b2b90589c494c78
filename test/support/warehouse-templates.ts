/**
 * Warehouses that are made once and copied for each test: migrating and filling one takes far
 * longer than copying.
 */
import { createHash } from 'node:crypto'
import { copyFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import pg from 'pg'
import { inject } from 'vitest'
import { openWarehouse, type Warehouse } from '../../src/app/open.ts'
import { makeOnce } from './make-once.ts'

/** The rows of a template, under a name of their own. None: a warehouse without rows. */
export type Filling = {
  readonly name: string
  readonly fill: (warehouse: Warehouse, url: string) => Promise<unknown>
}

/** The path of a SQLite warehouse, to be copied. */
export async function sqliteTemplate(filling?: Filling): Promise<string> {
  const empty = await makeOnce(`${sourceVersion()}.db`, async (path) => {
    await (await openWarehouse(`sqlite:${path}`)).close()
    const database = new Sqlite(path)
    database.exec(`update sync_sends set token = '${templateToken}'`)
    database.close()
  })
  if (filling === undefined) return empty
  return makeOnce(`${sourceVersion()}-${filling.name}.db`, async (path) => {
    copyFileSync(empty, path)
    await openAndFill(`sqlite:${path}`, filling)
  })
}

async function openAndFill(url: string, filling?: Filling): Promise<void> {
  const warehouse = await openWarehouse(url)
  await filling?.fill(warehouse, url)
  await warehouse.close()
}

/** Of its sends. Each copy has another. */
export const templateToken = '00000000-0000-4000-8000-000000000000'

/** The schema of the warehouse in copies of `postgresTemplate`. */
export const templateSchema = 'warehouse'

const ownTemplates = new Map<string, Promise<string>>()

/** Options of `create database` for a copy of a warehouse, which the global setup drops. */
export function postgresTemplate(filling?: Filling): Promise<string> {
  const name = `${inject('templatePrefix')}${sourceVersion()}${filling === undefined ? '' : `_${filling.name}`}`
  const template = ownTemplates.get(name) ?? findOrMakePostgresTemplate(name, filling)
  ownTemplates.set(name, template)
  return template
}

async function findOrMakePostgresTemplate(name: string, filling?: Filling): Promise<string> {
  const server = inject('postgresUrl')
  const empty = filling === undefined ? '' : await postgresTemplate()
  let options = `template ${name}`
  await withAdmin(server, async (run) => {
    // Copying files takes half the time of logging their pages. Earlier versions know nothing else.
    if (Number((await run('show server_version_num')).rows[0].server_version_num) >= 150_000)
      options += ' strategy file_copy'
    // Other test files wait until the first one has made it.
    await run(`select pg_advisory_lock(hashtext('${name}'))`)
    if ((await run(`select 1 from pg_database where datname = '${name}'`)).rowCount === 1) return
    await run(`create database ${name}_unfinished ${empty}`)
    const url = new URL(server)
    url.pathname = `/${name}_unfinished`
    await withAdmin(url.href, (runThere) =>
      runThere(`create schema if not exists ${templateSchema}`),
    )
    url.searchParams.set('schema', templateSchema)
    await openAndFill(url.href, filling)
    await run(`alter database ${name}_unfinished rename to ${name}`)
  })
  return options
}

async function withAdmin(
  url: string,
  work: (run: (text: string) => Promise<pg.QueryResult>) => Promise<unknown>,
) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await work((text) => client.query(text))
  } finally {
    await client.end()
  }
}

let ownVersion: string | undefined

/**
 * Changes with the code that makes a warehouse, as in watch mode one run follows another, in new
 * processes.
 */
export function sourceVersion(): string {
  ownVersion ??= hashSources()
  return ownVersion
}

function hashSources(): string {
  const hash = createHash('sha1')
  for (const folder of ['schema', 'src', 'test/simulator', 'test/analytics', 'test/outbox']) {
    const path = join(import.meta.dirname, '../..', folder)
    for (const file of readdirSync(path, { recursive: true, encoding: 'utf8' }))
      hash.update(`${file} ${statSync(join(path, file)).mtimeMs}\n`)
  }
  return hash.digest('hex').slice(0, 16)
}
