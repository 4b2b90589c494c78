/** Vitest's global setup: the servers that tests need, started before the first one and gone after the last one. */
import type { TestProject } from 'vitest/node'
import { type Server, startPostgres } from './postgres-server.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** A server where databases can be made: `postgres://user:password@127.0.0.1:port/postgres`. */
    readonly postgresUrl: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env['DESKMIRROR_TEST_POSTGRES_URL']
  const server: Server = given === undefined ? await startPostgres() : { url: given, stop: async () => {} }
  project.provide('postgresUrl', server.url)
  return server.stop
}
