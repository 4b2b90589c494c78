/**
 * How many workers, and how much Redis, do many projects need? Measures what schedules, jobs, sync
 * runs and requests cost in the real parts, and simulates the rest on a virtual clock. `--projects
 * N`, `--seed N`; `--cluster`: three masters of Redis; `--distance MS`: a round trip to Postgres;
 * `--costs FILE` stores the measured costs, or reads them if the file exists.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { Redis } from 'ioredis'
import { startPostgres } from '../test/support/postgres-server.ts'
import { startRedisCluster } from '../test/support/redis-groups.ts'
import { startPrivateRedis } from '../test/support/redis-server.ts'
import { seededRandom } from '../test/support/seeded-random.ts'
import { startDelayingProxy } from './delaying-proxy.ts'
import { printFigure } from './figures.ts'
import { measureBudgetCost } from './fleet/budget-costs.ts'
import { idleRequests, type MeasuredCosts, toSimulationCosts } from './fleet/measured-costs.ts'
import { createProjects } from './fleet/projects.ts'
import { measureQueue } from './fleet/queue-costs.ts'
import { redisUseOf } from './fleet/redis-use.ts'
import { createScenarios, type Scenario } from './fleet/scenarios.ts'
import { simulate } from './fleet/simulate.ts'
import { measureSyncJobs, type SyncCosts } from './fleet/sync-costs.ts'
import { firstMirror, isEnough, renderHeader, renderRow, type ScenarioRun } from './fleet/table.ts'
import { withTempFolder } from './temp-folder.ts'

const { values } = parseArgs({
  options: {
    projects: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
    concurrency: { type: 'string', default: '40' },
    cluster: { type: 'boolean', default: false },
    distance: { type: 'string', default: '0' },
    costs: { type: 'string' },
  },
})
const size = { conversations: 2000, visitors: 1000, calls: 200 }
const maxWorkers = 64
const logProgress = (what: string) => process.stderr.write(`${what}\n`)

const projects = createProjects(Number(values.projects), Number(values.seed))
const measured = await loadCosts()
printCosts(measured)
for (const scenario of createScenarios(projects, size, idleRequests(measured.server)))
  runScenario(scenario)

type AllCosts = { readonly server: MeasuredCosts; readonly sqlite: SyncCosts }

async function loadCosts(): Promise<AllCosts> {
  const { costs: file } = values
  if (file !== undefined && existsSync(file))
    return JSON.parse(readFileSync(file, 'utf8')) as AllCosts
  const found = await measureCosts()
  if (file !== undefined) writeFileSync(file, JSON.stringify(found, null, 2))
  return found
}

async function measureCosts(): Promise<AllCosts> {
  logProgress('a project in SQLite: its first mirror, then syncs without new rows')
  const sqlite = await withTempFolder((folder) =>
    measureSyncJobs({ databaseUrl: `sqlite:${folder}/mirror.db`, queueUrl: 'embedded' }, size),
  )
  const redis = values.cluster ? await startCluster() : await startSingle()
  const postgres = await startPostgres()
  const proxy = await startDelayingProxy(postgres.url, Number(values.distance))
  try {
    logProgress('the same in Postgres, with the budget in Redis')
    const passes = await measureSyncJobs({ databaseUrl: proxy.url, queueUrl: redis.url }, size)
    logProgress('requests of many keys on their budgets in Redis')
    await redis.flush()
    const budget = await measureBudgetCost(redis.url, redis.readUse)
    await redis.flush()
    logProgress(`the schedules of ${projects.length} projects in Redis, then jobs`)
    const queue = await measureQueue(redis.url, redis.readUse, projects)
    return { sqlite, server: { passes, budget, queue } }
  } finally {
    await redis.stop()
    proxy.close()
    await postgres.stop()
  }
}

async function startSingle() {
  const redis = await startPrivateRedis({ durable: true })
  return { ...redis, readUse: redisUseOf([() => new Redis(redis.url)]) }
}

async function startCluster() {
  const cluster = await startRedisCluster()
  const servers = cluster.ports.map((port) => () => cluster.admin(port))
  /** Replicas refuse it, and follow. */
  const flush = async () => {
    for (const connect of servers) {
      const server = connect()
      await server.flushall().catch(() => {})
      server.disconnect()
    }
  }
  return { ...cluster, flush, readUse: redisUseOf(servers) }
}

function printCosts({ server: { queue, passes, budget }, sqlite }: AllCosts): void {
  printFigure('schedules in Redis', queue.schedules, '')
  printFigure('  set for the first time', queue.setMs / 1000, 's')
  printFigure('  checked again', queue.lookMs / 1000, 's')
  printFigure('  memory of each', queue.bytesEach, 'bytes')
  printFigure('  memory of all', (queue.bytesEach * queue.schedules) / 1e6, 'MB')
  printFigure('a job that waits in Redis: memory', queue.bytesWaiting, 'bytes')
  for (const [name, cost] of Object.entries({
    'sync job': queue.pass,
    'scheduler job': queue.tick,
  })) {
    printFigure(`${name}: CPU of the worker`, cost.cpuMs, 'ms')
    printFigure('  CPU of Redis', cost.serverMs, 'ms')
    printFigure('  commands in Redis, including those of scripts', cost.commands, '')
  }
  for (const [name, cost] of Object.entries({ SQLite: sqlite, Postgres: passes })) {
    printFigure(`request of a first mirror, ${name}: CPU of the worker`, cost.request.cpuMs, 'ms')
    for (const stream of ['conversations', 'visitors', 'calls', 'availability'] as const) {
      const { cpuMs, tookMs, requests, commits, warehouseMs } = cost.idle[stream]
      printFigure(
        `  idle sync of ${stream}: CPU of the worker`,
        cpuMs,
        `ms of ${tookMs.toFixed(0)}, ${requests} requests`,
      )
      if (commits > 0)
        printFigure('    in Postgres', commits, `commits, ${warehouseMs.toFixed(1)} ms of CPU`)
    }
  }
  printFigure('budget of a request: CPU of Redis', budget.serverMs, 'ms')
  printFigure('  commands in Redis', budget.commands, '')
}

function runScenario(scenario: Scenario): void {
  process.stdout.write(`\n${scenario.name}\n${renderHeader()}\n`)
  const run = (workers: number): ScenarioRun => {
    logProgress(`${scenario.name}, ${workers} workers`)
    const outcome = simulate({
      ...scenario,
      projects,
      costs: toSimulationCosts(measured.server),
      workers,
      concurrency: Number(values.concurrency),
      sliceMs: 20_000,
      drain: false,
      random: seededRandom(Number(values.seed)),
    })
    const ran = { workers, outcome }
    process.stdout.write(`${renderRow(ran, scenario, measured.server)}\n`)
    if (scenario.name === 'first mirror') printForecast(ran, scenario)
    return ran
  }
  printLeast(findLeast((workers) => isEnough(run(workers), scenario, measured.server)))
}

function printForecast({ outcome }: ScenarioRun, scenario: Scenario): void {
  const perHour = (outcome.requestsInWindow / (scenario.forMs - scenario.warmUpMs)) * 3_600_000
  const hours = firstMirror({ projects, load: scenario.load }) / perHour
  process.stdout.write(`        all mirrored after some ${hours.toFixed(1)} hours\n`)
}

/** Doubles until it is enough, then searches in between. Null: not enough with `maxWorkers`. */
function findLeast(enough: (workers: number) => boolean): number | null {
  let high = 1
  while (!enough(high)) {
    high *= 2
    if (high > maxWorkers) return null
  }
  for (let low = high >> 1; high - low > 1; ) {
    const middle = (low + high) >> 1
    if (enough(middle)) high = middle
    else low = middle
  }
  return high
}

function printLeast(least: number | null): void {
  process.stdout.write(
    least === null
      ? `${maxWorkers} workers do not keep up\n`
      : `least number of workers that is enough: ${least}\n`,
  )
}
