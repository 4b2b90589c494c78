/** Vitest's global setup: starts what the tests share, and removes it after the last test. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { compileOnce } from './compile-once.ts'
import { startPostgres } from './postgres-server.ts'
import type { Server } from './private-server.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /**
     * A server where databases can be created: `postgres://user:password@127.0.0.1:port/postgres`.
     */
    readonly postgresUrl: string
    /** A folder for what is created once and used by many test files. */
    readonly sharedFolder: string
    /** The names of databases begin with it that this run makes once and copies. */
    readonly templatePrefix: string
    /** See `sampled`. */
    readonly runsAllCases: boolean
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const configuredUrl = process.env['DESKMIRROR_TEST_POSTGRES_URL']
  const compiling = compileOnce()
  const server: Server =
    configuredUrl === undefined
      ? await startPostgres()
      : { url: configuredUrl, stop: async () => {} }
  await compiling
  const folder = mkdtempSync(join(tmpdir(), 'deskmirror-shared-'))
  project.provide('postgresUrl', server.url)
  const templatePrefix = `template_${process.pid}_`
  project.provide('sharedFolder', folder)
  project.provide('templatePrefix', templatePrefix)
  return async () => {
    if (configuredUrl !== undefined) await dropDatabases(configuredUrl, templatePrefix)
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function dropDatabases(url: string, prefix: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query<{ name: string }>(
    'select datname as name from pg_database where starts_with(datname, $1)',
    [prefix],
  )
  for (const { name } of rows) await client.query(`drop database ${name} with (force)`)
  await client.end()
}
