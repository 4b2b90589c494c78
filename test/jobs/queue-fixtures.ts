/** The queues as fixtures; that in Redis is opened several times, crashed, and recovered. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { Redis } from 'ioredis'
import type { Backend } from '../../jobs/backends/backend.ts'
import type { createBullBackend } from '../../jobs/backends/bullmq/bullmq.ts'
import { openBackend } from '../../jobs/backends/open-backend.ts'
import type { BackendKind } from '../../src/config/queue-backends.ts'
import { createLog } from '../../src/log.ts'
import { type PrivateRedis, startPrivateRedis } from '../support/redis-server.ts'

export type QueueFixture = {
  readonly open: () => Promise<Backend>
  readonly drop: () => Promise<void>
}

export type BullBackend = ReturnType<typeof createBullBackend>

export type BullFixture = {
  readonly url: string
  readonly open: () => Promise<BullBackend>
  /** Starts a process that runs a job of the queue forever; resolves once that has started. */
  readonly startUnendingJob: (queue: string) => Promise<ChildProcess>
  readonly drop: () => Promise<void>
}

/** Resolves when it serves again. `meanwhile`: runs while it is down or recovering. */
type Crash = (meanwhile: () => Promise<void>) => Promise<void>

export const silentLog = createLog({ level: 'silent', pretty: false, secrets: [], write: () => {} })

const inProcess: QueueFixture = {
  open: () => openBackend('embedded', { log: silentLog }),
  drop: async () => {},
}

export const queueFixtures: readonly {
  readonly kind: BackendKind
  readonly make: () => Promise<QueueFixture>
}[] = [
  { kind: 'redis', make: createRedisFixture },
  { kind: 'embedded', make: async () => inProcess },
]

function createFixture(url: string, prefix: string, drop: () => Promise<void>): BullFixture {
  return {
    url,
    open: async () => (await openBackend(url, { prefix, log: silentLog })) as BullBackend,
    startUnendingJob: (queue) => startProgram('./unending-job.ts', [url, prefix, queue]),
    drop,
  }
}

/** Resolves once the program has reported that it started. */
async function startProgram(file: string, args: readonly string[]): Promise<ChildProcess> {
  const program = new URL(file, import.meta.url).pathname
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'exit').then(() => Promise.reject(new Error('ended'))),
  ])
  return child
}

let redis: Promise<PrivateRedis> | undefined

export async function createRedisFixture(): Promise<BullFixture> {
  return createFixture(await startTestRedis(), `test-${randomUUID()}`, async () => {})
}

/** One server for all test files of this process. It ends with the process. */
export async function startTestRedis(): Promise<string> {
  redis ??= startPrivateRedis({ durable: true })
  return (await redis).url
}

/**
 * Each test has its own database of the Redis. There are sixteen, of which single tests use the
 * last three.
 */
let redisDatabase = 0

/** Returns the address of a database that no other test of this process uses now. */
export async function emptyRedisDatabase(): Promise<string> {
  redisDatabase = (redisDatabase % 12) + 1
  const url = `${await startTestRedis()}/${redisDatabase}`
  const client = new Redis(url)
  await client.flushdb()
  client.disconnect()
  return url
}

/** A server that crashes and recovers. */
export async function createCrashableRedis() {
  const server = await startPrivateRedis({ durable: true })
  const crash: Crash = async (meanwhile) => {
    const crashed = server.crash()
    await meanwhile()
    await crashed
  }
  return { ...createFixture(server.url, 'crashable', server.stop), crash }
}
