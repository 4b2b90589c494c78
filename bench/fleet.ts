/**
 * How many workers, and how much Redis, do many projects need? Measures what schedules, jobs, passes and requests cost
 * the real parts, and simulates the rest by a clock of its own. `--projects N`, `--seed N`; `--costs FILE` keeps what
 * was measured there, or takes it from there.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { startPostgres } from '../test/support/postgres-server.ts'
import { startOwnRedis } from '../test/support/redis-server.ts'
import { print } from './figures.ts'
import { measureBudgets } from './fleet/budget-costs.ts'
import { diceOf } from './fleet/dice.ts'
import { costsOf, idleRequests, type Measured } from './fleet/measured.ts'
import { measurePasses, type PassCosts } from './fleet/pass-costs.ts'
import { projectsOf } from './fleet/projects.ts'
import { measureQueue } from './fleet/queue-costs.ts'
import { type Scenario, scenariosOf } from './fleet/scenarios.ts'
import { simulate } from './fleet/simulate.ts'
import { firstMirror, header, isEnough, line, type Ran } from './fleet/table.ts'
import { inFolder } from './folder.ts'

const { values } = parseArgs({
  options: {
    projects: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
    concurrency: { type: 'string', default: '40' },
    costs: { type: 'string' },
  },
})
const size = { conversations: 2000, visitors: 1000, calls: 200 }
const most = 64
const say = (what: string) => process.stderr.write(`${what}\n`)

const projects = projectsOf(Number(values.projects), Number(values.seed))
const measured = await costs()
tell(measured)
for (const scenario of scenariosOf(projects, size, idleRequests(measured.server))) play(scenario)

type All = { readonly server: Measured; readonly sqlite: PassCosts }

async function costs(): Promise<All> {
  const { costs: file } = values
  if (file !== undefined && existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as All
  const found = await measure()
  if (file !== undefined) writeFileSync(file, JSON.stringify(found, null, 2))
  return found
}

async function measure(): Promise<All> {
  say('a project in SQLite: its first mirror, then passes that find nothing new')
  const sqlite = await inFolder((folder) =>
    measurePasses({ databaseUrl: `sqlite:${folder}/desk.db`, queueUrl: 'embedded' }, size),
  )
  const [redis, postgres] = [await startOwnRedis({ durable: true }), await startPostgres()]
  try {
    say('the same in Postgres, with the budget in Redis')
    const passes = await measurePasses({ databaseUrl: postgres.url, queueUrl: redis.url }, size)
    say('requests of many keys on their budgets in Redis')
    await redis.empty()
    const budget = await measureBudgets(redis.url)
    await redis.empty()
    say(`the schedules of ${projects.length} projects in Redis, then jobs`)
    return { sqlite, server: { passes, budget, queue: await measureQueue(redis.url, projects) } }
  } finally {
    await redis.stop()
    await postgres.stop()
  }
}

function tell({ server: { queue, passes, budget }, sqlite }: All): void {
  print('schedules in Redis', queue.schedules, '')
  print('  set for the first time', queue.setMs / 1000, 's')
  print('  looked at once more', queue.lookMs / 1000, 's')
  print('  memory of each', queue.bytesEach, 'bytes')
  print('  memory of all', (queue.bytesEach * queue.schedules) / 1e6, 'MB')
  print('a job that waits in Redis: memory', queue.bytesWaiting, 'bytes')
  for (const [name, cost] of Object.entries({ 'job of a pass': queue.pass, 'job of the clock': queue.tick })) {
    print(`${name}: CPU of the worker`, cost.cpuMs, 'ms')
    print('  CPU of Redis', cost.serverMs, 'ms')
    print('  commands in Redis, those of scripts among them', cost.commands, '')
  }
  for (const [name, cost] of Object.entries({ SQLite: sqlite, Postgres: passes })) {
    print(`request of a first mirror, ${name}: CPU of the worker`, cost.request.cpuMs, 'ms')
    for (const stream of ['conversations', 'visitors', 'calls', 'availability'] as const) {
      const { cpuMs, requests, commits, warehouseMs } = cost.idle[stream]
      print(`  idle pass of ${stream}: CPU of the worker`, cpuMs, `ms, ${requests} requests`)
      if (commits > 0) print('    in Postgres', commits, `commits, ${warehouseMs.toFixed(1)} ms of CPU`)
    }
  }
  print('budget of a request: CPU of Redis', budget.serverMs, 'ms')
  print('  commands in Redis', budget.commands, '')
}

function play(scenario: Scenario): void {
  process.stdout.write(`\n${scenario.name}\n${header()}\n`)
  const run = (workers: number): Ran => {
    say(`${scenario.name}, ${workers} workers`)
    const outcome = simulate({
      ...scenario,
      projects,
      costs: costsOf(measured.server),
      workers,
      concurrency: Number(values.concurrency),
      portionMs: 20_000,
      toTheEnd: false,
      random: diceOf(Number(values.seed)),
    })
    const ran = { workers, outcome }
    process.stdout.write(`${line(ran, scenario, measured.server)}\n`)
    if (scenario.name === 'first mirror') forecast(ran, scenario)
    return ran
  }
  conclude(leastOf((workers) => isEnough(run(workers), scenario)))
}

function forecast({ outcome }: Ran, scenario: Scenario): void {
  const perHour = (outcome.requestsThen / (scenario.forMs - scenario.warmUpMs)) * 3_600_000
  const hours = firstMirror({ projects, load: scenario.load }) / perHour
  process.stdout.write(`        all mirrored after some ${hours.toFixed(1)} hours\n`)
}

/** Doubles until it is enough, then looks for the least in between. Null: not with `most`. */
function leastOf(enough: (workers: number) => boolean): number | null {
  let high = 1
  while (!enough(high)) {
    high *= 2
    if (high > most) return null
  }
  for (let low = high >> 1; high - low > 1; ) {
    const middle = (low + high) >> 1
    if (enough(middle)) high = middle
    else low = middle
  }
  return high
}

function conclude(least: number | null): void {
  process.stdout.write(
    least === null ? `not kept up with by ${most} workers\n` : `least number of workers that is enough: ${least}\n`,
  )
}
