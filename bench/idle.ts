/**
 * What an idle worker costs: one quiet project, on each kind of queue, compared with a Node.js that
 * does nothing. Memory and CPU of all of its processes over a minute, from /proc. All workers run
 * concurrently.
 *
 * Arguments choose setups by a part of their names. BASELINE=FOLDER measures another checkout
 * beside this one, and PROGRAM_NODE=FILE starts the workers with another Node.js, for example one
 * so old that the launcher starts the bundled one. STARTS=3: how often each worker is started and
 * measured; the medians are printed.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { startPostgres } from '../test/support/postgres-server.ts'
import { startPrivateRedis } from '../test/support/redis-server.ts'
import { createSchema } from './create-schema.ts'
import { median, printFigure } from './figures.ts'
import { measureTree, type ProcessUse } from './idle/process-tree.ts'
import { launcher, startSandboxProcess } from './sandbox.ts'
import { withTempFolder } from './temp-folder.ts'

const settleMs = 30_000
const measuredMs = 60_000
const [conversations, messages] = [100, 30]

/** `first`: when everything was read for the first time. `cpuMs` is of the measured time. */
type WorkerFigures = {
  readonly first: ProcessUse
  readonly idle: ProcessUse
}
type WorkerSetup = {
  readonly name: string
  readonly program: string
  readonly http: string
  readonly databaseUrl: string
  readonly queueUrl: string
}

const {
  BASELINE: baseline,
  PROGRAM_NODE: programNode = process.execPath,
  STARTS: starts = '1',
} = process.env
const programs = [
  { label: '', program: launcher },
  ...(baseline === undefined
    ? []
    : [{ label: ' (baseline)', program: join(baseline, 'bin/deskmirror.js') }]),
]

await withTempFolder(async (folder) => {
  const service = await startSandboxProcess(conversations, { messages, activity: 5 })
  const [redis, postgres] = [await startPrivateRedis({ durable: true }), await startPostgres()]
  try {
    const setups = (await listSetups(folder, redis.url, postgres.url)).filter(isChosen)
    const nothing = spawn(programNode, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'ignore' })
    const idle = withProcess(nothing, measure)
    const workers = setups.map((setup) =>
      measureWorker(() => startWorker(setup, service.environment, folder)),
    )
    const [bare, ...all] = await Promise.all([idle, ...workers])
    printFigure('node alone: resident', bare.rssMb, 'MB')
    for (const [n, figures] of all.entries()) printFigures(setups[n]?.name ?? '', figures)
  } finally {
    await service.stop()
    await redis.stop()
    await postgres.stop()
  }
})

async function listSetups(
  folder: string,
  redisUrl: string,
  postgresUrl: string,
): Promise<readonly WorkerSetup[]> {
  const setups: WorkerSetup[] = []
  for (const [n, { label, program }] of programs.entries()) {
    const schema = (name: string) => createSchema(postgresUrl, `${name}_${n}`)
    const sqlite = (name: string) => ({
      program,
      databaseUrl: `sqlite:${folder}/${name}-${n}.db`,
      queueUrl: 'embedded',
    })
    const server = { program, http: '127.0.0.1:0' }
    setups.push(
      { name: `embedded queue, SQLite${label}`, http: '127.0.0.1:0', ...sqlite('mirror') },
      { name: `embedded queue, SQLite, HTTP off${label}`, http: 'off', ...sqlite('quiet') },
      {
        name: `Redis queue, Postgres${label}`,
        ...server,
        databaseUrl: await schema('beside_redis'),
        queueUrl: `${redisUrl}/${n}`,
      },
      {
        name: `embedded queue, Postgres${label}`,
        ...server,
        databaseUrl: await schema('alone'),
        queueUrl: 'embedded',
      },
    )
  }
  return setups
}

function isChosen({ name }: WorkerSetup): boolean {
  const parts = process.argv.slice(2)
  return parts.length === 0 || parts.some((part) => name.includes(part))
}

function startWorker(
  setup: WorkerSetup,
  service: Readonly<Record<string, string>>,
  cwd: string,
): ChildProcess {
  const env = {
    ...process.env,
    ...service,
    DESKMIRROR_DATABASE_URL: setup.databaseUrl,
    DESKMIRROR_QUEUE_URL: setup.queueUrl,
    DESKMIRROR_HTTP: setup.http,
  }
  return spawn(programNode, [setup.program, 'start'], {
    env,
    cwd,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
}

/** A first process reads everything; later ones are measured while nothing happens. */
async function measureWorker(start: () => ChildProcess): Promise<WorkerFigures> {
  const first = await withProcess(start(), async (child) => {
    await waitForStreams(child, ['messages', 'visitor_activity', 'call_recordings', 'availability'])
    return measureTree(child.pid ?? 0)
  })
  const later: ProcessUse[] = []
  for (let n = 0; n < Number(starts); n++) {
    const measured = await withProcess(start(), async (child) => {
      await waitForStreams(child, ['availability'])
      return measure(child)
    })
    later.push(measured)
  }
  const middle = (value: (use: (typeof later)[number]) => number) => median(later.map(value))
  const idle = {
    processes: middle(({ processes }) => processes),
    rssMb: middle(({ rssMb }) => rssMb),
    pssMb: middle(({ pssMb }) => pssMb),
    peakMb: middle(({ peakMb }) => peakMb),
    cpuMs: middle(({ cpuMs }) => cpuMs),
  }
  return { first, idle }
}

async function withProcess<T>(
  child: ChildProcess,
  work: (child: ChildProcess) => Promise<T>,
): Promise<T> {
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

async function measure(child: ChildProcess): Promise<ProcessUse> {
  await sleep(settleMs)
  const { cpuMs: before } = measureTree(child.pid ?? 0)
  await sleep(measuredMs)
  const use = measureTree(child.pid ?? 0)
  return { ...use, cpuMs: use.cpuMs - before }
}

/** Resolves when sync runs of all these streams have ended. */
async function waitForStreams(child: ChildProcess, streams: readonly string[]): Promise<void> {
  if (child.stderr === null) throw new Error('the log of the worker is not piped')
  const missing = new Set(streams)
  const lines = createInterface({ input: child.stderr })
  await new Promise<void>((resolve, reject) =>
    lines.on('line', (line) => {
      if (!line.startsWith('{')) return reject(new Error(line))
      const { event, stream } = JSON.parse(line) as {
        readonly event?: string
        readonly stream?: string
      }
      if (event === 'sync.ended' && stream !== undefined) missing.delete(stream)
      if (missing.size === 0) resolve()
    }),
  )
}

function printFigures(name: string, { first, idle }: WorkerFigures): void {
  const processes = idle.processes === 1 ? 'one process' : `${idle.processes} processes`
  printFigure(
    `${name}: resident`,
    idle.rssMb,
    'MB',
    `${processes}, ${Math.round(idle.pssMb)} MB of their own`,
  )
  printFigure('  its peak since the start', idle.peakMb, 'MB')
  printFigure(
    '  at the very first start, everything read',
    first.rssMb,
    'MB',
    `peak ${Math.round(first.peakMb)} MB`,
  )
  printFigure('  CPU', (100 * idle.cpuMs) / measuredMs, '% of one core')
}
