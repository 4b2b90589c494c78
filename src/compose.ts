/** The one place that joins the rooms: configuration in, the stories told with real parts, reports out. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Budget, createBudget } from './api/budget.ts'
import { type Client, createClient } from './api/client.ts'
import { createMemoryStore } from './api/state-store.ts'
import { type CheckItem, checkService } from './check.ts'
import type { Config, ProjectConfig } from './config.ts'
import { describe, type Failure } from './core/failure.ts'
import type { Mirror, RunMode } from './core/mirror.ts'
import type { BudgetView, StatusReport, SyncProgress, SyncReport, VerifyReport } from './core/report.ts'
import type { StreamName } from './core/row.ts'
import { UserError } from './core/user-error.ts'
import type { Logger } from './log.ts'
import { sync } from './sync/sync.ts'
import { verify } from './verify/verify.ts'
import { type Lock, silenceMs } from './warehouse/lock.ts'
import type { Migrated } from './warehouse/migrate.ts'
import { openWarehouse, type Warehouse } from './warehouse/open.ts'
import { UnusedWarehouse } from './warehouse/unused.ts'

export type SyncOptions = {
  readonly mode: RunMode
  readonly streams: readonly StreamName[]
  /** Wait for another run of the project to end, instead of refusing. */
  readonly wait: boolean
  /** Stops after the page in hand. */
  readonly signal: AbortSignal
  readonly onProgress: (progress: SyncProgress) => void
  readonly onBudget: (budget: BudgetView) => void
  readonly log: Logger
}

/** One pass over one project. Throws UserError: locked, denied, a warehouse that cannot be used. */
export async function syncProject(config: Config, project: ProjectConfig, options: SyncOptions): Promise<SyncReport> {
  const { mode, log, onProgress } = options
  const startedAt = Date.now()
  return withWarehouse(config, async (warehouse) => {
    const lock = await hold(warehouse, project, options)
    const mirror = warehouse.mirror(project.projectId, { schema: project.schema })
    const service = await connect(project, mirror, options)
    const stopBeating = keepAlive(lock, service.stop)
    try {
      const synced = await sync({
        project: project.projectId,
        mode,
        streams: new Set(options.streams),
        startDate: project.startDate,
        timeZone: project.timeZone,
        get: service.client.get,
        mirror,
        requests: service.client.requests,
        now: Date.now,
        signal: service.signal,
        onProgress: (progress) => {
          onProgress(progress)
          void service.budget.view().then(options.onBudget)
        },
        log,
      })
      if (synced.stopped !== null) throw stoppedError(project, synced.stopped)
      const { gaps } = await warehouse.status(project.projectId, Date.now(), project.rate)
      const total = (of: (report: (typeof synced.reports)[number]) => number) =>
        synced.reports.reduce((sum, report) => sum + of(report), 0)
      return {
        project: project.name,
        mode,
        outcome: synced.outcome,
        tookMs: Date.now() - startedAt,
        requests: service.client.requests(),
        rows: total((report) => report.rows),
        changed: total((report) => report.changed),
        streams: synced.reports,
        gaps,
        notices: synced.notices,
      }
    } finally {
      stopBeating()
      await service.client.close()
      await lock.release()
    }
  })
}

/** Questions whose answers tell whether a sync can work. Changes nothing, here or there. */
export async function checkProject(
  config: Config,
  project: ProjectConfig,
  { signal, log }: Pick<SyncOptions, 'signal' | 'log'>,
): Promise<readonly CheckItem[]> {
  const { client } = await connect(project, null, { signal, log })
  try {
    const service = await checkService(client.get, project.projectId, Math.floor(Date.now() / 1000))
    return [...service, await checkWarehouse(config, project)]
  } finally {
    await client.close()
  }
}

async function checkWarehouse(config: Config, project: ProjectConfig): Promise<CheckItem> {
  try {
    const report = await statusOf(config, project)
    const rows = report.streams.reduce((sum, stream) => sum + stream.rows, 0)
    const detail = `${rows} rows mirrored, ${report.behaviours.length} facts learned about the service`
    return { name: 'warehouse', state: 'ok', detail, hint: null }
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    if (error instanceof UnusedWarehouse) {
      return { name: 'warehouse', state: 'ok', detail: 'empty; the first `deskmirror sync` fills it', hint: null }
    }
    return { name: 'warehouse', state: 'error', detail: `${error.what}: ${error.why}`, hint: error.next }
  }
}

/** Compares the mirror with the service. Changes nothing. */
export async function verifyProject(
  config: Config,
  project: ProjectConfig,
  options: Pick<SyncOptions, 'streams' | 'signal' | 'onProgress' | 'log'> & { readonly limit: number },
): Promise<VerifyReport> {
  const warehouse = await openWarehouse(config.databaseUrl, { use: 'read' })
  const mirror = warehouse.mirror(project.projectId)
  const service = await connect(project, mirror, options)
  try {
    const { streams, limit, signal, onProgress } = options
    const found = await verify({
      project: project.projectId,
      streams: new Set(streams),
      startDate: project.startDate,
      get: service.client.get,
      mirror,
      limit,
      signal,
      onProgress,
    })
    return { project: project.name, ...found, requests: service.client.requests() }
  } finally {
    await service.client.close()
    await warehouse.close()
  }
}

/** How the mirror stands. Reads only the warehouse. */
export async function statusOf(config: Config, project: ProjectConfig): Promise<StatusReport> {
  const warehouse = await openWarehouse(config.databaseUrl, { use: 'read' })
  try {
    const report = await warehouse.status(project.projectId, Date.now(), project.rate, project.streams)
    return { ...report, project: project.name }
  } finally {
    await warehouse.close()
  }
}

/** Brings the warehouse to this version's schema. */
export function migrateWarehouse(config: Config): Promise<Migrated> {
  return withWarehouse(config, async ({ migrated }) => migrated ?? { from: null, to: '', applied: [] })
}

async function withWarehouse<T>(config: Config, work: (warehouse: Warehouse) => Promise<T>): Promise<T> {
  const warehouse = await openWarehouse(config.databaseUrl)
  try {
    return await work(warehouse)
  } finally {
    await warehouse.close()
  }
}

type Held = Extract<Lock, { held: true }>

async function hold(warehouse: Warehouse, project: ProjectConfig, { wait, signal, log }: SyncOptions): Promise<Held> {
  for (let told = false; ; told = true) {
    const lock = await warehouse.lock(project.projectId, Date.now())
    if (lock.held) return lock
    const why = `${lock.holder} has been syncing it since ${lock.since}`
    if (!wait || signal.aborted) {
      const next = 'wait for it to end, or run `deskmirror sync --wait`'
      throw new UserError({ what: `cannot sync the project ${project.name}`, why, next, exitCode: 1 })
    }
    if (!told) log.info({ event: 'lock.awaited', project: project.name, holder: lock.holder, since: lock.since })
    await sleep(1000, undefined, { signal }).catch(() => {})
  }
}

/** Signs of life for the lock; a lock that was lost to another process stops the run. */
function keepAlive(lock: Held, stop: () => void): () => void {
  const beat = () =>
    lock.beat(Date.now()).then(
      (held) => held || stop(),
      () => {},
    )
  const timer = setInterval(() => void beat(), silenceMs / 6)
  return () => clearInterval(timer)
}

type Service = {
  readonly client: Client
  readonly budget: Budget
  readonly signal: AbortSignal
  readonly stop: () => void
}

/** How long a read may go on after somebody asked to stop: its page is then stored and not read again. */
const graceMs = 5000

/** A client for the project, with what the last runs have spent already taken off its budget. */
async function connect(
  project: ProjectConfig,
  mirror: Mirror | null,
  { signal, log }: Pick<SyncOptions, 'signal' | 'log'>,
): Promise<Service> {
  const { rate, writeRate, reserve } = project
  const budget = createBudget(createMemoryStore({ rate, writeRate, reserve }))
  const spent = mirror === null ? { count: 0, lastAt: 0 } : await mirror.recentRequests(rate.windowMs, Date.now())
  if (spent.count > 0) {
    const agoMs = Math.max(0, Date.now() - spent.lastAt)
    await budget.seed({ requests: spent.count, writes: 0, agoMs })
  }
  const own = new AbortController()
  const soft = AbortSignal.any([signal, own.signal])
  const hard = new AbortController()
  soft.addEventListener('abort', () => setTimeout(() => hard.abort(), graceMs).unref(), { once: true })
  const client = createClient({
    baseUrl: project.baseUrl,
    key: project.apiKey.reveal(),
    budget,
    signal: soft,
    cutOff: hard.signal,
    log,
    windowMs: rate.windowMs,
  })
  return { client, budget, signal: soft, stop: () => own.abort() }
}

function stoppedError(project: ProjectConfig, failure: Failure): UserError {
  const why = describe(failure)
  const at = `at ${project.baseUrl.href} (project ${project.name})`
  if (failure.kind === 'denied') {
    const next =
      failure.code === 'api_key_wrong_project'
        ? 'set DESKMIRROR_PROJECT_ID (`project_id` in deskmirror.yaml) to the project of the key, or use a key of this project'
        : 'create a key under Settings > API keys (only the account owner can) and set DESKMIRROR_API_KEY, or what deskmirror.yaml names'
    return new UserError({ what: `the service denies the key of the project ${project.name}`, why, next, exitCode: 2 })
  }
  if (failure.kind === 'refused') {
    const next = 'check DESKMIRROR_BASE_URL (with its version segment, if it has one) and DESKMIRROR_PROJECT_ID'
    return new UserError({ what: `nobody serves this API ${at}`, why, next, exitCode: 2 })
  }
  const next = 'check DESKMIRROR_BASE_URL and the network; the next sync goes on where this one stopped'
  return new UserError({ what: `the service does not answer ${at}`, why, next, exitCode: 1 })
}
