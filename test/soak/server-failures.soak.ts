/**
 * After any failures of the workers and their servers under load the mirror equals the service,
 * which never received more requests than it allows in any window, and never refused one.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, type TestContext, test } from 'vitest'
import { openWarehouse } from '../../src/app/open.ts'
import type { MutationKind } from '../../src/sandbox/mutations.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { findDifferences } from '../mirror/sync/sync-sandbox.ts'
import { maxInWindow } from '../service/core/simulated-world.ts'
import { startPrivatePostgres } from '../support/postgres-server.ts'
import { startRedisCluster, startRedisSentinels } from '../support/redis-groups.ts'
import { startPrivateRedis } from '../support/redis-server.ts'
import { seededRandom } from '../support/seeded-random.ts'
import { createTempFolder } from '../support/temp-folder.ts'
import { startWorkerProcess, type WorkerProcess } from '../worker/worker-process.ts'

const seed = Number(process.env.SEED ?? Date.now() % 100_000)
const limit = 300
const windowMs = 5_000

const size = {
  conversations: 2500,
  visitors: 700,
  calls: 400,
  messagesPerConversation: [1, 8],
  activityPerVisitor: [0, 5],
  days: 20,
} as const
const visible: readonly MutationKind[] = [
  'visitorWrites',
  'agentReplies',
  'addConversation',
  'addVisitor',
  'addCall',
]

type OnTestFinished = TestContext['onTestFinished']
type Failure = { readonly name: string; readonly times: number; readonly inject: () => unknown }
type Deployment = {
  readonly databaseUrl: string
  readonly queueUrl: string
  readonly workers: number
  readonly failures: readonly Failure[]
}

const deployments = [
  { name: 'single process: SQLite and the embedded queue', make: singleProcess },
  { name: 'several workers: Redis and Postgres', make: redisAndPostgres },
  { name: 'several workers: a Redis cluster and Postgres', make: redisGroup(startRedisCluster) },
  {
    name: 'several workers: Redis with sentinels and Postgres',
    make: redisGroup(startRedisSentinels),
  },
  { name: 'single process: Postgres and the embedded queue', make: postgresAlone },
]

async function singleProcess(): Promise<Deployment> {
  return {
    databaseUrl: `sqlite:${createTempFolder()}/mirror.db`,
    queueUrl: 'embedded',
    workers: 1,
    failures: [],
  }
}

async function redisAndPostgres(onTestFinished: OnTestFinished): Promise<Deployment> {
  const [redis, postgres] = [
    await startPrivateRedis({ durable: true }),
    await startPrivatePostgres(),
  ]
  onTestFinished(redis.stop)
  onTestFinished(postgres.stop)
  const failures = [
    { name: 'Redis restarts', times: 5, inject: redis.crash },
    { name: 'Redis is flushed', times: 5, inject: redis.flush },
    { name: 'Postgres crashes', times: 5, inject: postgres.crash },
  ]
  return { databaseUrl: postgres.url, queueUrl: redis.url, workers: 3, failures }
}

/** Masters die one after the other; each time another takes its place, and gets a new replica. */
function redisGroup(start: typeof startRedisCluster) {
  return async (onTestFinished: OnTestFinished): Promise<Deployment> => {
    const group = await start()
    onTestFinished(group.stop)
    const postgres = await startPrivatePostgres()
    onTestFinished(postgres.stop)
    const inject = async () => {
      await group.killMaster()
      await group.addReplica()
    }
    const failures = [{ name: 'a master of Redis dies', times: 5, inject }]
    return { databaseUrl: postgres.url, queueUrl: group.url, workers: 3, failures }
  }
}

async function postgresAlone(onTestFinished: OnTestFinished): Promise<Deployment> {
  const postgres = await startPrivatePostgres()
  onTestFinished(postgres.stop)
  const failures = [{ name: 'Postgres crashes', times: 5, inject: postgres.crash }]
  return { databaseUrl: postgres.url, queueUrl: 'embedded', workers: 1, failures }
}

test.for(deployments)(
  `$name (seed ${seed})`,
  { timeout: 1_800_000 },
  async ({ make }, { onTestFinished }) => {
    const random = seededRandom(seed)
    const sandbox = await startSandbox({
      seed,
      size,
      switches: {
        'rate.kind': 'sliding',
        'rate.limit': limit,
        'rate.window': windowMs / 1000,
        'rate.writes': 60,
        'latency.after': 20,
      },
    })
    onTestFinished(sandbox.stop)
    const deployment = await make(onTestFinished)
    const start = () =>
      startWorkerProcess(deployment, sandbox, {
        DESKMIRROR_RATE: `${limit}/${windowMs / 1000}s`,
        DESKMIRROR_WRITE_RATE: `60/${windowMs / 1000}s`,
      })
    const workers = Array.from({ length: deployment.workers }, start)
    await waitForRequests(sandbox, 50)

    const kill: Failure = {
      name: 'a worker is killed',
      times: 30,
      inject: () => {
        const index = Math.floor(random() * workers.length)
        workers[index]!.child.kill('SIGKILL')
        workers[index] = start()
      },
    }
    for (const failure of shuffle([kill, ...deployment.failures], random)) {
      await waitForRequests(sandbox, Math.floor(random() * 60))
      sandbox.advance(1000)
      sandbox.applyRandomMutations(10, Math.floor(random() * 1e6), visible)
      process.stderr.write(`${sandbox.log().length} requests: ${failure.name}\n`)
      await failure.inject()
      restartEnded(workers, start)
    }

    await waitUntilEqual(workers, start, deployment.databaseUrl, sandbox)
    const arrivals = sandbox.log().map(({ arrivedAt }) => arrivedAt)
    expect(maxInWindow(arrivals, windowMs)).toBeLessThanOrEqual(limit)
    expect(sandbox.counts().byStatus['429'] ?? 0).toBe(0)
    for (const worker of workers) worker.child.kill('SIGTERM')
    for (const worker of workers) expect(await worker.ended).toBe(0)
  },
)

/** Resolves after `more` further requests. A closed budget delays them for half a minute. */
async function waitForRequests(sandbox: Sandbox, more: number): Promise<void> {
  const until = sandbox.log().length + more
  while (sandbox.log().length < until) await sleep(20)
}

/** A worker that cannot continue ends, and a supervisor would start another one. */
function restartEnded(workers: WorkerProcess[], start: () => WorkerProcess): void {
  for (const [index, worker] of workers.entries())
    if (worker.child.exitCode !== null) workers[index] = start()
}

async function waitUntilEqual(
  workers: WorkerProcess[],
  start: () => WorkerProcess,
  url: string,
  sandbox: Sandbox,
): Promise<void> {
  for (;;) {
    restartEnded(workers, start)
    const warehouse = await openWarehouse(url, { access: 'read' })
    const differences = await findDifferences(warehouse, sandbox).finally(warehouse.close)
    if (differences.length === 0) return
    process.stderr.write(`${sandbox.log().length} requests: ${differences.length} rows differ\n`)
    await sleep(5000)
  }
}

function shuffle(failures: readonly Failure[], random: () => number): Failure[] {
  return failures
    .flatMap((failure) => Array.from({ length: failure.times }, () => ({ failure, at: random() })))
    .toSorted((a, b) => a.at - b.at)
    .map(({ failure }) => failure)
}
