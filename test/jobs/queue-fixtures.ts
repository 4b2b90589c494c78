/** The stores of the queue as fixtures: opened several times, crashed, and recovered. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { inject } from 'vitest'
import { type Backend, type BackendOptions, openBackend } from '../../jobs/backends/backend.ts'
import type { BackendKind } from '../../jobs/backends/store-connection.ts'
import { createLog } from '../../src/log.ts'
import { makeOnce } from '../support/make-once.ts'
import { startPrivatePostgres } from '../support/postgres-server.ts'
import { type PrivateRedis, startPrivateRedis } from '../support/redis-server.ts'

export type QueueFixture = {
  readonly open: (options?: Partial<BackendOptions>) => Promise<Backend>
  /** Starts a process that runs a job of the queue forever; resolves once that has started. */
  readonly startUnendingJob: (queue: string) => Promise<ChildProcess>
  /** Starts a process that adds jobs with these deduplication ids; resolves once it has. */
  readonly addJobsElsewhere: (queue: string, ids: readonly string[]) => Promise<ChildProcess>
  readonly drop: () => Promise<void>
}

/** Resolves when it serves again. `meanwhile`: runs while it is down or recovering. */
type Crash = (meanwhile: () => Promise<void>) => Promise<void>

export type QueueFixtureKind = {
  readonly kind: BackendKind
  readonly make: () => Promise<QueueFixture>
  /** A server that crashes and recovers. Null: there is none. */
  readonly makeCrashable: (() => Promise<QueueFixture & { readonly crash: Crash }>) | null
}

export const silentLog = createLog({ level: 'silent', pretty: false, secrets: [], write: () => {} })

export const queueFixtures: readonly QueueFixtureKind[] = [
  { kind: 'redis', make: createRedisFixture, makeCrashable: createCrashableRedis },
  { kind: 'postgres', make: createPostgresFixture, makeCrashable: createCrashablePostgres },
  { kind: 'embedded', make: createEmbeddedFixture, makeCrashable: null },
]

function createFixture(url: string, prefix: string, folder: string, drop: () => Promise<void>): QueueFixture {
  return {
    open: (options = {}) => openBackend(url, { folder, prefix, log: silentLog, ...options }),
    startUnendingJob: (queue) => startProgram('./unending-job.ts', [url, folder, prefix, queue]),
    addJobsElsewhere: (queue, ids) => startProgram('./add-jobs.ts', [url, folder, prefix, queue, ...ids]),
    drop,
  }
}

/** Resolves once the program has reported that it started. */
async function startProgram(file: string, args: readonly string[]): Promise<ChildProcess> {
  const program = new URL(file, import.meta.url).pathname
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  await Promise.race([once(child.stdout, 'data'), once(child, 'exit').then(() => Promise.reject(new Error('ended')))])
  return child
}

let redis: Promise<PrivateRedis> | undefined

async function createRedisFixture(): Promise<QueueFixture> {
  return createFixture(await startTestRedis(), `test-${randomUUID()}`, '', async () => {})
}

/** One server for all test files of this process. It ends with the process. */
export async function startTestRedis(): Promise<string> {
  redis ??= startPrivateRedis({ durable: true })
  return (await redis).url
}

async function createCrashableRedis() {
  const server = await startPrivateRedis({ durable: true })
  const crash: Crash = async (meanwhile) => {
    const crashed = server.crash()
    await meanwhile()
    await crashed
  }
  return { ...createFixture(server.url, 'crashable', '', server.stop), crash }
}

async function createPostgresFixture(): Promise<QueueFixture> {
  const { url, drop } = createJobSchema()
  return createFixture(url, 'unused', '', drop)
}

/** A schema for the jobs of one test; using it creates it. */
export function createJobSchema() {
  const url = new URL(inject('postgresUrl'))
  const schema = `jobs_${randomUUID().replaceAll('-', '')}`
  url.searchParams.set('schema', schema)
  return { url: url.href, drop: () => administer(inject('postgresUrl'), `drop schema if exists ${schema} cascade`) }
}

async function createCrashablePostgres() {
  const server = await startPrivatePostgres()
  return { ...createFixture(server.url, 'crashable', '', server.stop), crash: server.crash }
}

async function createEmbeddedFixture(): Promise<QueueFixture> {
  const folder = await createQueueFolder()
  return createFixture('embedded', 'unused', folder, async () => rmSync(folder, { recursive: true }))
}

/** A folder with an initialised, empty embedded store. */
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
