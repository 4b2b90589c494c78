/**
 * What an idle worker costs: one quiet project, on each kind of queue, compared with a Node.js that does nothing. Memory
 * and CPU of the process over a minute, from /proc. All of them run concurrently.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { startPostgres } from '../test/support/postgres-server.ts'
import { startPrivateRedis } from '../test/support/redis-server.ts'
import { createSchema } from './create-schema.ts'
import { printFigure } from './figures.ts'
import { processCpuMs } from './fleet/postgres-use.ts'
import { launcher, startSandboxProcess } from './sandbox.ts'
import { withTempFolder } from './temp-folder.ts'

const settleMs = 30_000
const measuredMs = 60_000

type WorkerFigures = { readonly firstMb: number; readonly rssMb: number; readonly cpuMs: number }
type WorkerSetup = { readonly name: string; readonly databaseUrl: string; readonly queueUrl: string }

await withTempFolder(async (folder) => {
  const service = await startSandboxProcess(100, { messages: 10, activity: 5 })
  const [redis, postgres] = [await startPrivateRedis({ durable: true }), await startPostgres()]
  const setups: readonly WorkerSetup[] = [
    { name: 'embedded queue, SQLite', databaseUrl: `sqlite:${folder}/mirror.db`, queueUrl: 'embedded' },
    {
      name: 'Redis queue, Postgres',
      databaseUrl: await createSchema(postgres.url, 'beside_redis'),
      queueUrl: redis.url,
    },
    {
      name: 'Postgres queue, Postgres',
      databaseUrl: await createSchema(postgres.url, 'alone'),
      queueUrl: postgres.url,
    },
  ]
  try {
    const nothing = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'ignore' })
    const idle = withProcess(nothing, measure)
    const workers = setups.map((setup) => measureWorker(() => startWorker(setup, service.environment, folder)))
    const [bare, ...all] = await Promise.all([idle, ...workers])
    printFigure('node alone: memory', bare.rssMb, 'MB')
    for (const [n, figures] of all.entries()) printFigures(setups[n]?.name ?? '', figures, bare.rssMb)
  } finally {
    await service.stop()
    await redis.stop()
    await postgres.stop()
  }
})

function startWorker(setup: WorkerSetup, service: Readonly<Record<string, string>>, cwd: string): ChildProcess {
  const env = {
    ...process.env,
    ...service,
    DESKMIRROR_DATABASE_URL: setup.databaseUrl,
    DESKMIRROR_QUEUE_URL: setup.queueUrl,
    DESKMIRROR_HTTP: '127.0.0.1:0',
  }
  return spawn(process.execPath, [launcher, 'start'], { env, cwd, stdio: ['ignore', 'ignore', 'pipe'] })
}

/** A first process reads everything; a second one is measured. `firstMb`: the first one's memory at the end. */
async function measureWorker(start: () => ChildProcess): Promise<WorkerFigures> {
  const first = await withProcess(start(), async (child) => {
    await waitForStreams(child, ['messages', 'visitor_activity', 'call_recordings', 'availability'])
    return residentMb(child)
  })
  return withProcess(start(), async (child) => {
    await waitForStreams(child, ['availability'])
    return { firstMb: first, ...(await measure(child)) }
  })
}

async function withProcess<T>(child: ChildProcess, work: (child: ChildProcess) => Promise<T>): Promise<T> {
  const exit = once(child, 'exit')
  const early = exit.then(([code]) => Promise.reject(new Error(`it ended with ${code}`)))
  try {
    return await Promise.race([early, work(child)])
  } finally {
    early.catch(() => {})
    child.kill()
    await exit
  }
}

async function measure(child: ChildProcess): Promise<Omit<WorkerFigures, 'firstMb'>> {
  await sleep(settleMs)
  const before = processCpuMs(child.pid ?? 0)
  await sleep(measuredMs)
  return { rssMb: residentMb(child), cpuMs: processCpuMs(child.pid ?? 0) - before }
}

/** Resolves when sync runs of all these streams have ended. */
async function waitForStreams(child: ChildProcess, streams: readonly string[]): Promise<void> {
  if (child.stderr === null) throw new Error('the log of the worker is not piped')
  const missing = new Set(streams)
  const lines = createInterface({ input: child.stderr })
  await new Promise<void>((resolve, reject) =>
    lines.on('line', (line) => {
      if (!line.startsWith('{')) return reject(new Error(line))
      const { event, stream } = JSON.parse(line) as { readonly event?: string; readonly stream?: string }
      if (event === 'sync.ended' && stream !== undefined) missing.delete(stream)
      if (missing.size === 0) resolve()
    }),
  )
}

function residentMb({ pid }: ChildProcess): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return (Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024) / 1e6
}

function printFigures(name: string, { firstMb, rssMb, cpuMs }: WorkerFigures, bareMb: number): void {
  printFigure(`${name}: memory`, rssMb, 'MB', `${(rssMb / bareMb).toFixed(1)} times node alone`)
  printFigure('  memory after the very first start', firstMb, 'MB')
  printFigure('  CPU', (100 * cpuMs) / measuredMs, '% of one core')
}
