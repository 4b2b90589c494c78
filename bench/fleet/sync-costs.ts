/**
 * Measures what sync runs cost a worker, with the real parts: the first mirror of a project, then
 * runs without new rows.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { isChildStream, type StreamName, streamNames } from '../../schema/stream-specs.ts'
import type { ProjectConfig } from '../../src/config/config.ts'
import { loadConfig } from '../../src/config/load.ts'
import { createMetrics } from '../../src/http/metrics.ts'
import { createLog } from '../../src/log.ts'
import { markSyncedAndListPending } from '../../src/worker/project-health.ts'
import { runSyncSlice } from '../../src/worker/sync-slice.ts'
import { openWorkerContext, type WorkerContext } from '../../src/worker/worker-context.ts'
import { median } from '../figures.ts'
import { startSandboxProcess } from '../sandbox.ts'
import type { PerStream } from './costs.ts'
import type { ProjectSize } from './load.ts'
import { postgresUse } from './postgres-use.ts'

/**
 * The cost of one sync run or request. `cpuMs`: of this process. `tookMs`: with a service that
 * responds at once.
 */
export type SyncCost = {
  readonly cpuMs: number
  readonly tookMs: number
  readonly requests: number
  readonly commits: number
  /** CPU of Postgres. */
  readonly warehouseMs: number
}

export type SyncCosts = {
  /** Of one request of a first mirror, over all streams. */
  readonly request: SyncCost
  /** Of a sync run without new rows, including the search for pending children. */
  readonly idle: PerStream<SyncCost>
  /** Of a sync run whose stream is locked. */
  readonly busyCpuMs: number
}

export type StoreUrls = { readonly databaseUrl: string; readonly queueUrl: string }

const idleRuns = 60
const messagesEach = 20
const quiet = createLog({ level: 'silent', pretty: false, secrets: [], write: () => {} })

export async function measureSyncJobs(
  { databaseUrl, queueUrl }: StoreUrls,
  size: ProjectSize,
): Promise<SyncCosts> {
  const { conversations, visitors, calls } = size
  const service = await startSandboxProcess(conversations, {
    messages: messagesEach,
    visitors,
    calls,
    activity: 10,
  })
  const environment = {
    ...service.environment,
    DESKMIRROR_DATABASE_URL: databaseUrl,
    DESKMIRROR_QUEUE_URL: queueUrl,
  }
  const config = loadConfig('service', '/', environment)
  const [project] = config.projects
  if (project === undefined) throw new Error('no project')
  let requests = 0
  const workerContext = await openWorkerContext(config, {
    log: quiet,
    onLost: () => {},
    metrics: {
      ...createMetrics({ readHealth: async () => [], log: quiet }),
      countRequest: () => {
        requests += 1
      },
    },
  })
  const meter = createMeter(databaseUrl, () => requests)
  try {
    const first = await meter(() => runFirstSync(workerContext, project))
    // Also reads what becomes pending soon after the first mirror.
    await runFirstSync(workerContext, project)
    const idle: [StreamName, SyncCost][] = []
    for (const stream of streamNames)
      idle.push([
        stream,
        divideCost(await meter(() => repeatSyncJob(workerContext, project, stream)), idleRuns),
      ])
    const busyCpuMs = await measureBusyJobs(workerContext, project)
    return {
      request: divideCost(first, first.requests),
      idle: Object.fromEntries(idle) as PerStream<SyncCost>,
      busyCpuMs,
    }
  } finally {
    await workerContext.close()
    await service.stop()
  }
}

async function runFirstSync(workerContext: WorkerContext, project: ProjectConfig): Promise<void> {
  for (const stream of [...streamNames].sort(
    (a, b) => Number(isChildStream(a)) - Number(isChildStream(b)),
  )) {
    await runSyncJob(workerContext, project, stream)
  }
}

async function runSyncJob(
  workerContext: WorkerContext,
  project: ProjectConfig,
  stream: StreamName,
) {
  const signal = new AbortController().signal
  const end = await runSyncSlice(workerContext, project, {
    stream,
    mode: 'incremental',
    sliceMs: 600_000,
    signal,
  })
  if (end.kind !== 'done') throw new Error(`the sync of ${stream} ended ${JSON.stringify(end)}`)
  if (['conversations', 'visitors', 'calls'].includes(stream))
    await markSyncedAndListPending(workerContext, project)
}

async function repeatSyncJob(
  workerContext: WorkerContext,
  project: ProjectConfig,
  stream: StreamName,
): Promise<void> {
  for (let n = 0; n < idleRuns; n++) await runSyncJob(workerContext, project, stream)
}

/** One run locks the stream; fifty more find it locked. */
async function measureBusyJobs(
  workerContext: WorkerContext,
  project: ProjectConfig,
): Promise<number> {
  const signal = new AbortController().signal
  const sliceOptions = { stream: 'calls', mode: 'incremental', sliceMs: 600_000, signal } as const
  const spent: number[] = []
  for (let n = 0; n < 5; n++) {
    const cpu = process.cpuUsage()
    const all = await Promise.all(
      Array.from({ length: 51 }, () => runSyncSlice(workerContext, project, sliceOptions)),
    )
    const busy = all.filter(({ kind }) => kind === 'blocked').length
    const { user, system } = process.cpuUsage(cpu)
    if (busy > 25) spent.push((user + system) / 1000 / all.length)
  }
  return median(spent)
}

type Meter = (work: () => Promise<void>) => Promise<SyncCost>

function createMeter(databaseUrl: string, requests: () => number): Meter {
  const postgres = () =>
    databaseUrl.startsWith('postgres') ? postgresUse(databaseUrl) : { commits: 0, cpuMs: 0 }
  return async (work) => {
    const [before, requestsBefore] = [await postgres(), requests()]
    const cpu = process.cpuUsage()
    const began = performance.now()
    await work()
    const tookMs = performance.now() - began
    const { user, system } = process.cpuUsage(cpu)
    // Postgres updates its statistics up to a second later.
    await sleep(1200)
    const after = await postgres()
    return {
      cpuMs: (user + system) / 1000,
      tookMs,
      requests: requests() - requestsBefore,
      commits: after.commits - before.commits,
      warehouseMs: after.cpuMs - before.cpuMs,
    }
  }
}

function divideCost(cost: SyncCost, count: number): SyncCost {
  return Object.fromEntries(
    Object.entries(cost).map(([name, value]) => [name, value / count]),
  ) as SyncCost
}
