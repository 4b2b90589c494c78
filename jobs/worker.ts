/** The worker: schedules, jobs and HTTP over one warehouse and one queue, until it is stopped. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Config, type ProjectConfig, settingsNeedingRestart } from '../src/config/config.ts'
import type { Metrics } from '../src/http/http.ts'
import { createMetrics } from '../src/http/metrics.ts'
import type { Logger } from '../src/log.ts'
import type { JobIdentity, JobKind } from '../src/maintenance/maintenance.ts'
import { readInstallationId } from '../src/maintenance/sql/workers.ts'
import type { Ms } from '../src/values/time.ts'
import { errorText } from '../src/values/user-error.ts'
import { createJobFailures } from '../src/worker/job-failures.ts'
import { readMirrorHealth, readWarehouseStorage } from '../src/worker/project-health.ts'
import type { JobFailures } from '../src/worker/worker.ts'
import { openWorkerContext } from '../src/worker/worker-context.ts'
import { QueueUnavailableError } from './backends/backend.ts'
import { openBackend } from './backends/open-backend.ts'
import { createMaintenance } from './maintenance.ts'
import { startQueueWorkers } from './queue-workers.ts'
import { openJobQueues } from './queues.ts'
import { checkReadiness, openWorkerHttp, requirePeopleTokens } from './worker-http.ts'

export type WorkerOptions = {
  readonly log: Logger
  /** The warehouse's file is gone, or another worker took over: the process should be restarted. */
  readonly onFatal: (error: Error) => void
  /** How long a sync run works before it yields to others. */
  readonly sliceMs?: Ms
  readonly maintenanceEveryMs?: Ms
  /** A job without a heartbeat for this long counts as abandoned by a dead process. */
  readonly lockMs?: Ms
  readonly prefix?: string
  readonly wakeDelayMs?: Ms
}

export type RunningWorker = Awaited<ReturnType<typeof startWorker>>

/** How soon a new write-back is noticed. */
const pollEveryMs: Ms = 2000

/** Less than the ten seconds that supervisors usually wait. */
const shutdownTimeoutMs: Ms = 9000

/** Throws UserError if the warehouse, the queue or the address cannot be used. */
export async function startWorker(config: Config, options: WorkerOptions) {
  const { log, sliceMs = 20_000, maintenanceEveryMs = 30_000, lockMs = 30_000 } = options
  let current = config
  const projects = () => current.projects
  const stopping = new AbortController()
  const closer = createCloser(log)
  const closeAll = () => {
    stopping.abort()
    return closer.closeAll()
  }
  try {
    const components = await openWorkerComponents(
      config,
      options,
      projects,
      stopping.signal,
      closer,
    )
    const { context, backend, failures, enqueueLanes, enqueueSyncJobs } = components
    let sinceMaintenanceMs = (): Ms => 0
    const isAlive = () => sinceMaintenanceMs() < 4 * maintenanceEveryMs + 60_000
    // Before any work begins: the address may be taken.
    const http = await openWorkerHttp(() => current, {
      ...components,
      isAlive,
      onClose: closer.add,
    })
    const maintain = createMaintenance({ ...components, config: () => current })
    const maintenance = startPeriodicTask('maintenance', maintenanceEveryMs, maintain, failures)
    sinceMaintenanceMs = maintenance.sinceLastRunMs
    closer.add(maintenance.stop)
    // Anyone may insert write-backs by plain SQL at any time.
    const enqueueReadyLanes = () => context.lanes.enqueueReady(projects(), enqueueLanes)
    closer.add(startPeriodicTask('outbox_poll', pollEveryMs, enqueueReadyLanes, failures).stop)
    const notify = () => context.notify(projects(), failures, http.address ?? null, stopping.signal)
    closer.add(startPeriodicTask('notify', maintenanceEveryMs, notify, failures).stop)
    const findProject = (name: string) => projects().find((project) => project.name === name)
    const deps = {
      context,
      config: () => current,
      findProject,
      enqueueSyncJobs,
      failures,
      sliceMs,
      stopping: stopping.signal,
    }
    startQueueWorkers(backend, deps, config.concurrency, lockMs)
    return {
      queue: backend.kind,
      /** The address of the HTTP server; null = off. */
      address: http.address,
      /** Signs in to the console once; null = people have tokens, or HTTP is off. */
      consoleLink: http.consoleLink,
      /** Returns the changed settings that need a restart. Throws UserError. */
      reload: (next: Config): readonly string[] => {
        requirePeopleTokens(next)
        current = next
        maintenance.runNow()
        return settingsNeedingRestart(config, next)
      },
      /** Finishes the current pages and closes everything; takes ten seconds at most. */
      stop: () => stopInTime(closeAll, log),
    }
  } catch (error) {
    await stopInTime(closeAll, log)
    throw error
  }
}

/**
 * Work of every worker that needs no job. The first run starts at once, each further one `everyMs`
 * after the end of the last, also of one that fails, which is recorded.
 */
function startPeriodicTask(
  job: JobKind,
  everyMs: Ms,
  work: () => Promise<void>,
  failures: JobFailures,
) {
  const identity: JobIdentity = { job, project: null, key: '', stream: null }
  let lastAt = performance.now()
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  const runOnce = async () => {
    clearTimeout(timer)
    try {
      // Closing resources may fail the last run; that is not worth a warning.
      await work().catch((error) => (stopped ? undefined : Promise.reject(error)))
      await failures.recordSuccess(identity)
    } catch (error) {
      await failures.recordFailure(identity, error, error instanceof QueueUnavailableError)
    }
    lastAt = performance.now()
    if (!stopped) timer = setTimeout(next, everyMs)
  }
  let current = Promise.resolve()
  const next = () => {
    current = current.then(runOnce)
  }
  next()
  return {
    /** Milliseconds since the last completed run, or since the start. */
    sinceLastRunMs: (): Ms => performance.now() - lastAt,
    runNow: next,
    stop: async () => {
      stopped = true
      clearTimeout(timer)
      await current
    },
  }
}

/** Closes the warehouse, which is added first, when all else is closed. */
function createCloser(log: Logger) {
  const closers: (() => Promise<unknown>)[] = []
  const close = (closer: () => Promise<unknown>) =>
    closer().catch((error) => log.warn({ event: 'close.failed', why: errorText(error) }))
  return {
    add: (closer: () => Promise<unknown>) => void closers.push(closer),
    closeAll: async () => {
      await Promise.all(closers.slice(1).map(close))
      await Promise.all(closers.slice(0, 1).map(close))
    },
  }
}

async function stopInTime(closeAll: () => Promise<void>, log: Logger): Promise<void> {
  const closed = new AbortController()
  // The timer keeps the process: it must not end with exit code 0 where something never closes.
  const late = sleep(shutdownTimeoutMs, false, { signal: closed.signal }).catch(() => true)
  const inTime = await Promise.race([closeAll().then(() => true), late])
  closed.abort()
  if (!inTime)
    log.error({
      event: 'shutdown.timed_out',
      why: `not everything closed within ${shutdownTimeoutMs} ms`,
    })
}

async function openWorkerComponents(
  config: Config,
  { log, prefix, onFatal, wakeDelayMs }: WorkerOptions,
  projects: () => readonly ProjectConfig[],
  stopping: AbortSignal,
  closer: ReturnType<typeof createCloser>,
) {
  const metrics: Metrics = createMetrics({
    readHealth: () => readMirrorHealth(context, projects(), failures.list()),
    failingJobs: () => failures.list(),
    checkReadiness: () => checkComponents(),
    readStorage: () => readWarehouseStorage(config, context.warehouse),
    log,
  })
  const context = await openWorkerContext(config, { log, metrics, onLost: onFatal })
  closer.add(context.close)
  const { warehouse } = context
  const failures = createJobFailures({
    db: warehouse.db,
    projects,
    log,
    metrics,
    onFileLost: onFatal,
  })
  const installation = await readInstallationId(warehouse.db)
  const backendOptions = {
    log,
    onError: metrics.countQueueError,
    installation,
    ...(prefix === undefined ? {} : { prefix }),
  }
  const backend = await openBackend(config.queueUrl, backendOptions)
  closer.add(backend.close)
  const checkComponents = () => checkReadiness(warehouse, backend, failures, stopping)
  return {
    context,
    failures,
    backend,
    checkReadiness: checkComponents,
    ...openJobQueues(backend, wakeDelayMs),
  }
}
