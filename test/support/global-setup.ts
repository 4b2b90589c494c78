/** Vitest's global setup: what tests share, there before the first one and gone after the last one. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { type Server, startPostgres } from './postgres-server.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** A server where databases can be made: `postgres://user:password@127.0.0.1:port/postgres`. */
    readonly postgresUrl: string
    /** A folder for what is made once and used by many test files. */
    readonly sharedFolder: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env['DESKMIRROR_TEST_POSTGRES_URL']
  const server: Server = given === undefined ? await startPostgres() : { url: given, stop: async () => {} }
  const folder = mkdtempSync(join(tmpdir(), 'deskmirror-shared-'))
  project.provide('postgresUrl', server.url)
  project.provide('sharedFolder', folder)
  return async () => {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
