/** Vitest's global setup: starts what the tests share, and removes it after the last test. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { startPostgres } from './postgres-server.ts'
import type { Server } from './private-server.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** A server where databases can be created: `postgres://user:password@127.0.0.1:port/postgres`. */
    readonly postgresUrl: string
    /** A folder for what is created once and used by many test files. */
    readonly sharedFolder: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const configuredUrl = process.env['DESKMIRROR_TEST_POSTGRES_URL']
  const server: Server =
    configuredUrl === undefined ? await startPostgres() : { url: configuredUrl, stop: async () => {} }
  const folder = mkdtempSync(join(tmpdir(), 'deskmirror-shared-'))
  project.provide('postgresUrl', server.url)
  project.provide('sharedFolder', folder)
  return async () => {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
