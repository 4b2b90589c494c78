/** The places where jobs can be kept, each as the tests need it: opened several times, taken away, and given back. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, inject } from 'vitest'
import { type Backend, type BackendOptions, openBackend } from '../../jobs/backends/backend.ts'
import type { BackendKind } from '../../jobs/backends/store-connection.ts'
import { createLog } from '../../src/log.ts'
import { makeOnce } from '../support/make-once.ts'
import { startPrivatePostgres } from '../support/postgres-server.ts'
import { type PrivateRedis, startPrivateRedis } from '../support/redis-server.ts'

export type QueueFixture = {
  readonly open: (options?: Partial<BackendOptions>) => Promise<Backend>
  /** A process of its own that runs jobs of the queue and never ends the first: resolves once it has begun. */
  readonly startUnendingJob: (queue: string) => Promise<ChildProcess>
  readonly drop: () => Promise<void>
}

/** Resolves when it serves again. `meanwhile`: while it is down, or just coming back. */
type Crash = (meanwhile: () => Promise<void>) => Promise<void>

export type QueueFixtureKind = {
  readonly kind: BackendKind
  readonly make: () => Promise<QueueFixture>
  /** A server that dies and recovers under those that use it. Null: there is none. */
  readonly makeCrashable: (() => Promise<QueueFixture & { readonly crash: Crash }>) | null
}

export const silentLog = createLog({ level: 'silent', pretty: false, secrets: [], write: () => {} })

export const queueFixtures: readonly QueueFixtureKind[] = [
  { kind: 'redis', make: inRedis, makeCrashable: inFrailRedis },
  { kind: 'postgres', make: inPostgres, makeCrashable: inFrailPostgres },
  { kind: 'embedded', make: inFolder, makeCrashable: null },
]

function place(url: string, prefix: string, folder: string, drop: () => Promise<void>): QueueFixture {
  return {
    open: (options = {}) => openBackend(url, { folder, prefix, log: silentLog, ...options }),
    startUnendingJob: async (queue) => {
      const program = new URL('./unending-job.ts', import.meta.url).pathname
      const child = spawn(process.execPath, [program, url, folder, prefix, queue], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      await Promise.race([
        once(child.stdout, 'data'),
        once(child, 'exit').then(() => Promise.reject(new Error('ended'))),
      ])
      return child
    },
    drop,
  }
}

let redis: Promise<PrivateRedis> | undefined
afterAll(async () => (await redis)?.stop())

async function inRedis(): Promise<QueueFixture> {
  return place(await startTestRedis(), `test-${randomUUID()}`, '', async () => {})
}

/** One server a test file. */
export async function startTestRedis(): Promise<string> {
  redis ??= startPrivateRedis({ durable: true })
  return (await redis).url
}

async function inFrailRedis() {
  const server = await startPrivateRedis({ durable: true })
  const crash: Crash = async (meanwhile) => {
    const crashed = server.crash()
    await meanwhile()
    await crashed
  }
  return { ...place(server.url, 'frail', '', server.stop), crash }
}

async function inPostgres(): Promise<QueueFixture> {
  const { url, drop } = createJobSchema()
  return place(url, 'unused', '', drop)
}

/** A schema for the jobs of one test, which makes it by using it. */
export function createJobSchema() {
  const url = new URL(inject('postgresUrl'))
  const schema = `jobs_${randomUUID().replaceAll('-', '')}`
  url.searchParams.set('schema', schema)
  return { url: url.href, drop: () => administer(inject('postgresUrl'), `drop schema if exists ${schema} cascade`) }
}

async function inFrailPostgres() {
  const server = await startPrivatePostgres()
  return { ...place(server.url, 'frail', '', server.stop), crash: server.crash }
}

async function inFolder(): Promise<QueueFixture> {
  const folder = await createQueueFolder()
  return place('embedded', 'unused', folder, async () => rmSync(folder, { recursive: true }))
}

/** A folder where the embedded store was used before, with nothing in it. */
export async function createQueueFolder(folder = emptyFolder()): Promise<string> {
  const used = await makeOnce('queue', async (path) =>
    (await openBackend('embedded', { folder: path, log: silentLog })).close(),
  )
  cpSync(used, folder, { recursive: true })
  return folder
}

function emptyFolder(): string {
  return mkdtempSync(join(tmpdir(), 'deskmirror-queue-'))
}

async function administer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(statement).finally(() => client.end())
}
