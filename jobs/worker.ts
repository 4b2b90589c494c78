/** The worker: schedules, jobs and HTTP over one warehouse and one queue, until it is stopped. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createJobFailures } from '../src/app/worker/job-failures.ts'
import { openWorkerContext } from '../src/app/worker/worker-context.ts'
import { resolveHttpExposure } from '../src/config/http-exposure.ts'
import type { Config } from '../src/config/load.ts'
import { withFailingJobs } from '../src/core/health.ts'
import type { FailingJob } from '../src/core/job-failure.ts'
import type { Ms } from '../src/core/time.ts'
import { createMetrics, type Metrics } from '../src/http/metrics.ts'
import { type HttpServer, openHttpServer } from '../src/http/server.ts'
import { type WebhookReceiver, webhookRoutes } from '../src/http/webhooks.ts'
import type { Logger } from '../src/log.ts'
import { type Backend, openBackend, type RunningJob } from './backends/backend.ts'
import { embeddedQueueFolder } from './backends/embedded/queue-folder.ts'
import type { JobQueue } from './backends/schedule.ts'
import { bullBoardRoutes } from './bull-board.ts'
import { createEnqueuer, type JobQueues, openJobQueues } from './enqueue.ts'
import type { JobDeps } from './job-deps.ts'
import { catchJobErrors } from './job-errors.ts'
import type { JobResult } from './job-result.ts'
import { runLaneJob } from './lane-jobs.ts'
import { type Maintenance, startMaintenance } from './maintenance.ts'
import { startOutboxPoller } from './outbox-poller.ts'
import { parseSyncJob, webhookQueue, writebackQueue } from './queues.ts'
import { checkReadiness, type ReadinessDeps } from './readiness.ts'
import { settingsNeedingRestart } from './restart-required.ts'
import { overdueSyncJobs, type PlannedSyncJob } from './schedule-plan.ts'
import { createScheduleSync } from './schedule-sync.ts'
import { runSchedulerJob } from './scheduler-jobs.ts'
import { runSyncJob } from './sync-jobs.ts'
import { runWebhookJob } from './webhook-follow-ups.ts'
import { createWebhookReceiver, pendingWebhookJobs } from './webhook-receiver.ts'

export type WorkerOptions = {
  readonly log: Logger
  /** The queue's store has failed permanently: the process should end and be restarted. */
  readonly onFatal: (error: Error) => void
  /** How long a sync run works before it yields to others. */
  readonly sliceMs?: Ms
  readonly maintenanceEveryMs?: Ms
  /** A job without a heartbeat for this long counts as abandoned by a dead process. */
  readonly lockMs?: Ms
  /** Key prefix in the queue's store. */
  readonly prefix?: string
}

export type RunningWorker = {
  readonly queue: Backend['kind']
  /** The address of the HTTP server; null = off. */
  readonly address: string | null
  /** Applies changed projects, keys and schedules. Returns the settings that need a restart. */
  readonly reload: (config: Config) => readonly string[]
  /** Finishes the current pages and closes everything; takes ten seconds at most. */
  readonly stop: () => Promise<void>
}

/** Throws UserError if the warehouse, the queue or the address cannot be used. */
export async function startWorker(config: Config, options: WorkerOptions): Promise<RunningWorker> {
  const { log, sliceMs = 20_000, maintenanceEveryMs = 30_000, lockMs = 30_000 } = options
  let projects = config.projects
  const findProject = (name: string) => projects.find((project) => project.name === name)
  const stopping = new AbortController()
  // The warehouse is opened first and closed last, when nothing uses it any more. The others close concurrently.
  const closers: (() => Promise<unknown>)[] = []
  const closeAll = async () => {
    stopping.abort()
    const close = (closer: () => Promise<unknown>) =>
      closer().catch((error) => log.warn(errorEvent('close.failed', error)))
    await Promise.all(closers.slice(1).map(close))
    await Promise.all(closers.slice(0, 1).map(close))
  }

  try {
    const metrics: Metrics = createMetrics({
      readHealth: async () => withFailingJobs(await workerContext.mirrorHealth(projects), failures.list()),
      failingJobs: () => failures.list(),
      checkReadiness: () => checkReadiness(readinessDeps()),
      log,
    })
    const workerContext = await openWorkerContext(config, {
      log,
      onOutcome: (name, priority, outcome) => metrics.countRequest({ project: name, priority, outcome }),
      onSettled: (name, status) => metrics.countSettled({ project: name, status }),
      onLoaded: (name, stream, rows, changed) => metrics.countRows({ project: name, stream, rows, changed }),
    })
    closers.push(workerContext.close)
    const failures = createJobFailures({
      failureLog: workerContext.failureLog,
      projects: () => projects,
      log,
      onFailure: metrics.countJobFailure,
    })

    const { prefix, onFatal } = options
    const folder = embeddedQueueFolder(config.databaseUrl)
    const named = prefix === undefined ? {} : { prefix }
    const backend = await openBackend(config.queueUrl, {
      folder,
      log,
      onFatal,
      onError: metrics.countQueueError,
      ...named,
    })
    closers.push(backend.close)
    const queues = openJobQueues(backend)
    const { enqueueSyncJobs, enqueueWebhookJobs, enqueueLanes } = createEnqueuer(queues)

    const readinessDeps = (): ReadinessDeps => ({ workerContext, backend, failures, stopping })
    const failureDeps = { failures, isQueueConnectionError: backend.isConnectionError }
    const syncSchedules = createScheduleSync(backend, queues.clock)
    const maintenance = startMaintenance({
      everyMs: maintenanceEveryMs,
      recordHeartbeat: async () => {
        await workerContext.recordHeartbeat(backend.kind)
        await failures.refresh()
        await enqueueSyncJobs(syncJobsToRetry(failures.list()))
      },
      tryLead: () => workerContext.tryLead('caretaker'),
      syncSchedules: () => syncSchedules(projects, Date.now()),
      enqueueOverdue: async () => {
        await enqueueSyncJobs(
          overdueSyncJobs(
            projects,
            await workerContext.lastCompletions(),
            await workerContext.allPendingChildStreams(),
            Date.now(),
          ),
        )
        await enqueueWebhookJobs(pendingWebhookJobs(projects, await workerContext.dueDeliveries()))
      },
      ...failureDeps,
    })
    closers.push(maintenance.stop)
    const outboxPoller = startOutboxPoller(
      pollEveryMs,
      async () => enqueueLanes(await workerContext.lanes.findReady(projects)),
      failureDeps,
    )
    closers.push(outboxPoller.stop)

    const http = await openWorkerHttp(config, {
      maintenance,
      maintenanceEveryMs,
      readinessDeps,
      queues,
      metrics,
      receiver: createWebhookReceiver({ projects: () => projects, workerContext, enqueueWebhookJobs, metrics, log }),
      log,
    })
    if (http !== null) closers.push(http.close)

    const deps: JobDeps = {
      workerContext,
      findProject,
      enqueueSyncJobs,
      metrics,
      ...failureDeps,
      log,
      sliceMs,
      rollupsChecked: new WeakSet(),
      stopping: stopping.signal,
      random: Math.random,
    }
    startQueueWorkers(backend, deps, config.concurrency, lockMs)

    return {
      queue: backend.kind,
      address: http?.address ?? null,
      reload: (next) => {
        projects = next.projects
        maintenance.runNow()
        return settingsNeedingRestart(config, next)
      },
      stop: async () => {
        const inTime = await Promise.race([
          closeAll().then(() => true),
          sleep(shutdownTimeoutMs, false, { ref: false }),
        ])
        if (!inTime)
          log.error({ event: 'shutdown.timed_out', why: `not everything closed within ${shutdownTimeoutMs} ms` })
      },
    }
  } catch (error) {
    await closeAll()
    throw error
  }
}

/** `concurrency`: of sync runs and of lanes. The other jobs are short, or wait behind these. */
function startQueueWorkers(backend: Backend, deps: JobDeps, concurrency: number, lockMs: Ms): void {
  const optionsFor = (slots: number) => ({
    lockDuration: lockMs,
    stalledInterval: lockMs / 2,
    concurrency: Math.ceil(slots),
  })
  const start = (
    queue: Parameters<typeof catchJobErrors>[0],
    work: (job: RunningJob<unknown>) => Promise<JobResult>,
    slots: number,
  ) => backend.worker<unknown>(queue, catchJobErrors(queue, work, deps), optionsFor(slots))
  start('clock', (job) => runSchedulerJob(job, deps), 4)
  start(webhookQueue, (job) => runWebhookJob(job, deps), concurrency / 4)
  start(writebackQueue, (job) => runLaneJob(job, deps), concurrency)
  start('passes', (job) => runSyncJob('passes', job, deps), concurrency)
  start('backfill', (job) => runSyncJob('backfill', job, deps), concurrency / 2)
}

/** Sync jobs that the warehouse failed: it may work again, and their schedule may be a night away. */
function syncJobsToRetry(failing: readonly FailingJob[]): PlannedSyncJob[] {
  return failing.flatMap(({ subject, failure, isWarehouseError }): PlannedSyncJob[] => {
    const [, mode] = failure.subject.split('/')
    const job = isWarehouseError ? parseSyncJob({ project: subject.project?.name, stream: subject.stream, mode }) : null
    return job === null ? [] : [{ queue: 'passes', job }]
  })
}

/** How soon a new write-back is noticed. */
const pollEveryMs: Ms = 2000

/** Less than the ten seconds that supervisors usually wait. */
const shutdownTimeoutMs: Ms = 9000

type HttpDeps = {
  readonly maintenance: Maintenance
  readonly maintenanceEveryMs: Ms
  readonly readinessDeps: () => ReadinessDeps
  readonly queues: JobQueues
  readonly metrics: Metrics
  readonly receiver: WebhookReceiver
  readonly log: Logger
}

async function openWorkerHttp(config: Config, deps: HttpDeps): Promise<HttpServer | null> {
  const address = resolveHttpExposure(config)
  if (address === null) return null
  const { maintenance, maintenanceEveryMs, queues, metrics, receiver, log } = deps
  const isAlive = () => maintenance.sinceLastRunMs() < 4 * maintenanceEveryMs + 60_000
  const { clock, passes, backfill, hints, writebacks } = queues
  const board = bullBoardRoutes([clock, passes, backfill, hints, writebacks] as unknown as JobQueue<never>[])
  const plugins = [board, webhookRoutes(receiver)]
  return openHttpServer({
    ...address,
    health: { isAlive, checkReadiness: () => checkReadiness(deps.readinessDeps()) },
    metrics,
    plugins,
    log,
  })
}

function errorEvent(event: string, error: unknown) {
  return { event, why: error instanceof Error ? error.message : String(error) }
}
