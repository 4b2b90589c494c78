/**
 * How much of a key's limit is used by a worker, and by several that share it, under a backlog that
 * outlasts the measurement: 600 requests a minute as the service counts them, in the minute from
 * the first request on, and over three minutes after it. All groups run concurrently. Options:
 * `bench/limit-options.ts`.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Sandbox, startSandbox } from '../src/sandbox/sandbox.ts'
import type { Switches } from '../src/sandbox/switches.ts'
import { createClient } from '../src/service/client.ts'
import { createMemoryStore } from '../src/service/rate-limit/budget-store.ts'
import { createRequestBudget } from '../src/service/rate-limit/request-budget.ts'
import { startPostgres } from '../test/support/postgres-server.ts'
import { startPrivateRedis } from '../test/support/redis-server.ts'
import { createSchema } from './create-schema.ts'
import { printFigure } from './figures.ts'
import { readLimitOptions } from './limit-options.ts'
import { launcher } from './sandbox.ts'
import { withTempFolder } from './temp-folder.ts'

const [limit, windowMs] = [600, 60_000]
const options = readLimitOptions()
const size = {
  conversations: 20_000,
  visitors: 50,
  calls: 50,
  messagesPerConversation: [1, 3],
  days: 300,
} as const

type WorkerGroup = {
  readonly name: string
  readonly workers: number
  readonly databaseUrl: string
  readonly queueUrl: string
  /** Instead of those of the options. */
  readonly switches?: Partial<Switches>
}

await withTempFolder(async (folder) => {
  const [redis, postgres] = [await startPrivateRedis({ durable: true }), await startPostgres()]
  const schema = (name: string) => createSchema(postgres.url, name)
  const groups: readonly WorkerGroup[] = [
    {
      name: '1 of SQLite',
      workers: 1,
      databaseUrl: `sqlite:${folder}/mirror.db`,
      queueUrl: 'embedded',
    },
    {
      name: '1 of Postgres',
      workers: 1,
      databaseUrl: await schema('embedded'),
      queueUrl: 'embedded',
    },
    {
      name: '2 of Postgres, Redis',
      workers: 2,
      databaseUrl: await schema('two'),
      queueUrl: `${redis.url}/1`,
    },
    {
      name: '4 of Postgres, Redis',
      workers: 4,
      databaseUrl: await schema('four'),
      queueUrl: `${redis.url}/2`,
    },
    {
      name: '2 of Postgres, Redis, whole seconds',
      workers: 2,
      databaseUrl: await schema('coarse'),
      queueUrl: `${redis.url}/3`,
      switches: { 'rate.kind': 'coarse' },
    },
  ]
  try {
    const measured = groups
      .filter(options.isMeasured)
      .map(async (group) => ({ ...group, ...(await measure(group, folder)) }))
    const inProcess = [{ name: 'one client, in memory' }].filter(options.isMeasured)
    process.stdout.write(`${options.title}\n`)
    const memory = inProcess.map(async (group) => ({ ...group, ...(await measureClient()) }))
    for (const { name, first, later, most, refused } of await Promise.all([
      ...measured,
      ...memory,
    ])) {
      printFigure(`${name}: of the limit, first minute`, 100 * first, '%', 'goal: 97')
      const worst = `at most ${most} in any minute, ${refused} refused`
      printFigure('  later', 100 * later, '%', `goal: 97; ${worst}`)
    }
  } finally {
    await redis.stop()
    await postgres.stop()
  }
})

async function measure({ workers, databaseUrl, queueUrl, switches }: WorkerGroup, cwd: string) {
  const sandbox = await startSandbox({ size, switches: { ...options.switches, ...switches } })
  const env = {
    ...process.env,
    DESKMIRROR_BASE_URL: sandbox.baseUrl,
    DESKMIRROR_PROJECT_ID: sandbox.projectId,
    DESKMIRROR_API_KEY: sandbox.key,
    DESKMIRROR_DATABASE_URL: databaseUrl,
    DESKMIRROR_QUEUE_URL: queueUrl,
    DESKMIRROR_HTTP: 'off',
    ...options.env,
  }
  const children = Array.from({ length: workers }, () =>
    spawn(process.execPath, [launcher, 'start'], { cwd, env, stdio: 'ignore' }),
  )
  try {
    return await measureUse(sandbox)
  } finally {
    await Promise.all(children.map(stopProcess))
    await sandbox.stop()
  }
}

/** Nothing but requests: the budget in a variable, without a warehouse. */
async function measureClient() {
  const sandbox = await startSandbox({ size: { conversations: 200 }, switches: options.switches })
  const stop = new AbortController()
  const rates = { rate: { requests: limit, windowMs }, writeRate: { requests: 120, windowMs } }
  const budget = createRequestBudget(
    createMemoryStore({ ...rates, reserve: 0, rateMargin: options.margin }),
  )
  const client = createClient({
    baseUrl: new URL(sandbox.baseUrl),
    key: sandbox.key,
    budget,
    signal: stop.signal,
  })
  const path = `/public/projects/${sandbox.projectId}/conversations`
  const spend = async () => {
    while (!stop.signal.aborted) await client.get(path, { limit: 1 }, 'backfill').catch(() => {})
  }
  const spending = Array.from({ length: 20 }, spend)
  try {
    return await measureUse(sandbox)
  } finally {
    stop.abort()
    await Promise.all(spending)
    await client.close()
    await sandbox.stop()
  }
}

async function measureUse(sandbox: Sandbox) {
  while (sandbox.log().length === 0) await sleep(100)
  await sleep((1 + options.minutes) * windowMs)
  const { maxInWindow, byStatus } = sandbox.counts()
  const counted = sandbox.log().filter(({ status }) => status !== 429)
  const from = counted[0]?.arrivedAt ?? 0
  const countedIn = (minutes: number) =>
    counted.filter(({ arrivedAt }) => arrivedAt < from + minutes * windowMs).length
  const first = countedIn(1)
  const later = (countedIn(1 + options.minutes) - first) / options.minutes
  return {
    first: first / limit,
    later: later / limit,
    most: maxInWindow.requests,
    refused: byStatus['429'] ?? 0,
  }
}

async function stopProcess(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit')
  child.kill()
  await exit
}
