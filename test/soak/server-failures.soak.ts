/**
 * Whatever befalls the workers and their servers under load: in the end the mirror equals the service, and the service
 * never saw more requests than it allows, in any window, nor had to refuse one.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, type TestContext, test } from 'vitest'
import type { MutationKind } from '../../src/sandbox/random-mutations.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { openWarehouse } from '../../src/warehouse/open.ts'
import { startWorkerProcess, type WorkerProcess } from '../app/worker/worker-process.ts'
import { emptyFolder } from '../cli/run-process.ts'
import { createRandom, maxInWindow } from '../core/rate-limit/simulated-world.ts'
import { startPrivatePostgres } from '../support/postgres-server.ts'
import { startPrivateRedis } from '../support/redis-server.ts'
import { findDifferences } from '../sync/sync-sandbox.ts'

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
const visible: readonly MutationKind[] = ['visitorWrites', 'agentReplies', 'addConversation', 'addVisitor', 'addCall']

type Finished = TestContext['onTestFinished']
type Harm = { readonly name: string; readonly times: number; readonly strike: () => unknown }
type Scene = {
  readonly databaseUrl: string
  readonly queueUrl: string
  readonly workers: number
  readonly harms: readonly Harm[]
}

const scenes = [
  { name: 'a laptop: SQLite and the embedded queue', make: laptop },
  { name: 'a fleet: Redis and Postgres', make: fleet },
  { name: 'a fleet: Postgres alone', make: postgresAlone },
]

async function laptop(): Promise<Scene> {
  return { databaseUrl: `sqlite:${emptyFolder()}/desk.db`, queueUrl: 'embedded', workers: 1, harms: [] }
}

async function fleet(finished: Finished): Promise<Scene> {
  const [redis, postgres] = [await startPrivateRedis({ durable: true }), await startPrivatePostgres()]
  finished(redis.stop)
  finished(postgres.stop)
  const harms = [
    { name: 'Redis restarts', times: 5, strike: redis.crash },
    { name: 'Redis forgets', times: 5, strike: redis.flush },
    { name: 'Postgres stops at once', times: 5, strike: postgres.crash },
  ]
  return { databaseUrl: postgres.url, queueUrl: redis.url, workers: 3, harms }
}

async function postgresAlone(finished: Finished): Promise<Scene> {
  const postgres = await startPrivatePostgres()
  finished(postgres.stop)
  const harms = [{ name: 'Postgres stops at once', times: 5, strike: postgres.crash }]
  return { databaseUrl: postgres.url, queueUrl: postgres.url, workers: 3, harms }
}

test.for(scenes)(`$name (seed ${seed})`, { timeout: 1_800_000 }, async ({ make }, { onTestFinished }) => {
  const dice = createRandom(seed)
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
  const scene = await make(onTestFinished)
  const start = () =>
    startWorkerProcess(scene, sandbox, {
      DESKMIRROR_RATE: `${limit}/${windowMs / 1000}s`,
      DESKMIRROR_WRITE_RATE: `60/${windowMs / 1000}s`,
    })
  const workers = Array.from({ length: scene.workers }, start)
  await requests(sandbox, 50)

  const kill: Harm = {
    name: 'a worker is killed',
    times: 30,
    strike: () => {
      const which = Math.floor(dice() * workers.length)
      workers[which]!.child.kill('SIGKILL')
      workers[which] = start()
    },
  }
  for (const harm of shuffled([kill, ...scene.harms], dice)) {
    await requests(sandbox, Math.floor(dice() * 60))
    sandbox.advance(1000)
    sandbox.applyRandomMutations(10, Math.floor(dice() * 1e6), visible)
    process.stderr.write(`${sandbox.log().length} requests: ${harm.name}\n`)
    await harm.strike()
    revive(workers, start)
  }

  await equal(workers, start, scene.databaseUrl, sandbox)
  const arrivals = sandbox.log().map(({ arrivedAt }) => arrivedAt)
  expect(maxInWindow(arrivals, windowMs)).toBeLessThanOrEqual(limit)
  expect(sandbox.counts().byStatus['429'] ?? 0).toBe(0)
  for (const worker of workers) worker.child.kill('SIGTERM')
  for (const worker of workers) expect(await worker.ended).toBe(0)
})

/** Resolves after so many more requests. A budget that closes holds them back for half a minute. */
async function requests(sandbox: Sandbox, more: number): Promise<void> {
  const until = sandbox.log().length + more
  while (sandbox.log().length < until) await sleep(20)
}

/** One that could not go on ends, and its supervisor starts another one. */
function revive(workers: WorkerProcess[], start: () => WorkerProcess): void {
  for (const [at, worker] of workers.entries()) if (worker.child.exitCode !== null) workers[at] = start()
}

async function equal(
  workers: WorkerProcess[],
  start: () => WorkerProcess,
  url: string,
  sandbox: Sandbox,
): Promise<void> {
  for (;;) {
    revive(workers, start)
    const warehouse = await openWarehouse(url, { access: 'read' })
    const differences = await findDifferences(warehouse, sandbox).finally(warehouse.close)
    if (differences.length === 0) return
    process.stderr.write(`${sandbox.log().length} requests: ${differences.length} rows differ\n`)
    await sleep(5000)
  }
}

function shuffled(harms: readonly Harm[], dice: () => number): Harm[] {
  return harms
    .flatMap((harm) => Array.from({ length: harm.times }, () => ({ harm, at: dice() })))
    .toSorted((a, b) => a.at - b.at)
    .map(({ harm }) => harm)
}
