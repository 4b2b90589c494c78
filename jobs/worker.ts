/** The worker: schedules, jobs and HTTP over one warehouse and one queue, until it is stopped. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Config, type ProjectConfig, resolveHttpExposure, settingsNeedingRestart } from '../src/config/config.ts'
import { type Attempts, createAttempts } from '../src/http/auth.ts'
import { createMetrics, type Metrics } from '../src/http/metrics.ts'
import { type HttpRoutes, type HttpServer, openHttpServer, type RoutesPlugin } from '../src/http/server.ts'
import { webhookRoutes } from '../src/http/webhooks.ts'
import type { Logger } from '../src/log.ts'
import { withFailingJobs } from '../src/maintenance/core/health.ts'
import { errorText } from '../src/values/system-error-text.ts'
import type { Ms } from '../src/values/time.ts'
import { createJobFailures } from '../src/worker/job-failures.ts'
import { openWorkerContext } from '../src/worker/worker-context.ts'
import type { Backend } from './backends/backend.ts'
import type { BullQueue } from './backends/ensure-schedule.ts'
import { openBackend } from './backends/open-backend.ts'
import { createEnqueuer, openJobQueues } from './enqueue.ts'
import { createJobHandler, type JobDeps, type JobType } from './job-type.ts'
import { laneJobs } from './lane-jobs.ts'
import { createMaintenance } from './maintenance.ts'
import { startPeriodicTask } from './periodic-task.ts'
import type { QueueName } from './queues.ts'
import { checkReadiness } from './readiness.ts'
import { schedulerJobs } from './scheduler-jobs.ts'
import { syncJobs } from './sync-jobs.ts'
import { createWebhookReceiver, webhookJobs } from './webhook-receiver.ts'
import { openWorkerConsole, requirePeopleTokens } from './worker-console.ts'

export type WorkerOptions = {
  readonly log: Logger
  /** The warehouse's file is gone, or another worker has taken over: the process should end and be restarted. */
  readonly onFatal: (error: Error) => void
  /** How long a sync run works before it yields to others. */
  readonly sliceMs?: Ms
  readonly maintenanceEveryMs?: Ms
  /** A job without a heartbeat for this long counts as abandoned by a dead process. */
  readonly lockMs?: Ms
  /** Key prefix in the queue's store. */
  readonly prefix?: string
}

export type RunningWorker = Awaited<ReturnType<typeof startWorker>>

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
    const services = await openWorkerComponents(config, options, projects, stopping.signal, closer)
    const { workerContext, backend, metrics, failures, enqueuer } = services
    const failureDeps = { failures, isQueueConnectionError: backend.isConnectionError }
    const receiver = createWebhookReceiver(projects, services, log)
    let sinceMaintenanceMs = (): Ms => 0
    const isAlive = () => sinceMaintenanceMs() < 4 * maintenanceEveryMs + 60_000
    const attempts = createAttempts()
    const webConsole = openWorkerConsole(() => current, workerContext.warehouse, attempts, log)
    closer.add(webConsole.close)
    // Before any work begins: the address may be taken.
    const routes = [webhookRoutes(receiver), webConsole.routes]
    const http = await openWorkerHttp(config, services, { isAlive, attempts, routes, log })
    if (http !== null) closer.add(http.close)
    const maintain = createMaintenance(services, projects, log)
    const maintenance = startPeriodicTask('maintenance', maintenanceEveryMs, maintain, failureDeps)
    sinceMaintenanceMs = maintenance.sinceLastRunMs
    closer.add(maintenance.stop)
    // Anyone may insert write-backs by plain SQL at any time.
    const enqueueReadyLanes = async () => enqueuer.enqueueLanes(await workerContext.lanes.findReady(projects()))
    closer.add(startPeriodicTask('outbox_poll', pollEveryMs, enqueueReadyLanes, failureDeps).stop)
    const deps: JobDeps = {
      workerContext,
      findProject: (name) => projects().find((project) => project.name === name),
      enqueueSyncJobs: enqueuer.enqueueSyncJobs,
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
      /** The address of the HTTP server; null = off. */
      address: http?.address ?? null,
      /** Signs in to the console once; null = people have tokens, or HTTP is off. */
      consoleLink: http === null ? null : await webConsole.createLink(http.address),
      /** Applies changed projects, keys, schedules and people. Returns the settings that need a restart. Throws UserError. */
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

type Closer = ReturnType<typeof createCloser>

/** Closes the warehouse, which is added first, when everything else is closed. The others close concurrently. */
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
  // The timer keeps the process: it must not end by itself, with exit code 0, where something never closes.
  const late = sleep(shutdownTimeoutMs, false, { signal: closed.signal }).catch(() => true)
  const inTime = await Promise.race([closeAll().then(() => true), late])
  closed.abort()
  if (!inTime) log.error({ event: 'shutdown.timed_out', why: `not everything closed within ${shutdownTimeoutMs} ms` })
}

type WorkerComponents = Awaited<ReturnType<typeof openWorkerComponents>>

async function openWorkerComponents(
  config: Config,
  { log, prefix, onFatal }: WorkerOptions,
  projects: () => readonly ProjectConfig[],
  stopping: AbortSignal,
  closer: Closer,
) {
  const metrics: Metrics = createMetrics({
    readHealth: async () => withFailingJobs(await workerContext.mirrorHealth(projects()), failures.list()),
    failingJobs: () => failures.list(),
    checkReadiness: () => checkComponents(),
    log,
  })
  const workerContext = await openWorkerContext(config, { log, metrics, onLost: onFatal })
  closer.add(workerContext.close)
  const { warehouse } = workerContext
  const failures = createJobFailures({ ...warehouse, projects, log, metrics, onFileLost: onFatal })
  const prefixOption = prefix === undefined ? {} : { prefix }
  const installation = await warehouse.installationId()
  const backendOptions = { log, onError: metrics.countQueueError, installation, ...prefixOption }
  const backend = await openBackend(config.queueUrl, backendOptions)
  closer.add(backend.close)
  const queues = openJobQueues(backend)
  const checkComponents = () => checkReadiness(warehouse, backend, failures, stopping)
  const listHeld = async () => {
    const held = await warehouse.projects.listHeld()
    return projects().flatMap(({ name, projectId }) => (held.has(projectId) ? [name] : []))
  }
  const enqueuer = createEnqueuer(queues)
  return { metrics, workerContext, failures, backend, queues, enqueuer, checkReadiness: checkComponents, listHeld }
}

/** `concurrency`: of sync runs and of lanes. The other jobs are short, or wait behind these. */
function startQueueWorkers(backend: Backend, deps: JobDeps, concurrency: number, lockMs: Ms): void {
  const start = <Data extends object>(queue: QueueName, type: JobType<Data>, jobLimit: number) =>
    backend.worker(queue, createJobHandler(queue, type, deps), { lockMs, concurrency: Math.ceil(jobLimit) })
  start('schedules', schedulerJobs, 4)
  start('webhooks', webhookJobs, concurrency / 4)
  start('writebacks', laneJobs, concurrency)
  start('sync', syncJobs('sync'), concurrency)
  start('backfill', syncJobs('backfill'), concurrency / 2)
}

/** How soon a new write-back is noticed. */
const pollEveryMs: Ms = 2000

/** Less than the ten seconds that supervisors usually wait. */
const shutdownTimeoutMs: Ms = 9000

type WorkerHttpParts = {
  readonly isAlive: () => boolean
  readonly attempts: Attempts
  readonly routes: readonly HttpRoutes[]
  readonly log: Logger
}

async function openWorkerHttp(
  config: Config,
  { backend, checkReadiness, listHeld, queues, metrics }: WorkerComponents,
  { isAlive, attempts, routes, log }: WorkerHttpParts,
): Promise<HttpServer | null> {
  const address = resolveHttpExposure(config)
  if (address === null) return null
  const load = async () => {
    const { bullBoardPlugin } = await import('./bull-board.ts')
    return bullBoardPlugin(Object.values(queues) as unknown as BullQueue<never>[])
  }
  const board: HttpRoutes = {
    prefix: '/queues',
    auth: 'token',
    ...(backend.kind === 'embedded' ? { plugin: noBoard } : { load }),
  }
  const plugins = [board, ...routes]
  return openHttpServer({ ...address, attempts, health: { isAlive, checkReadiness, listHeld }, metrics, plugins, log })
}

const noBoard: RoutesPlugin = async (app) => {
  const error =
    'the embedded queue has no page: `deskmirror status` and the console show what is pending and what fails'
  for (const url of ['', '/*']) app.get(url, (_, reply) => reply.code(404).send({ error }))
}
