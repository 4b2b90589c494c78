/** The job queue on any of its stores: Redis, a Postgres server, or a Postgres within this process. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type IQueueBackend, type Job, type JobProgress, Queue, Worker, type WorkerOptions } from 'bullmq'
import { applyJobResult, type JobResult } from '../job-result.ts'
import { openEmbedded } from './embedded/embedded.ts'
import { ensureSchedule, type JobQueue, type JobSchedule } from './ensure-schedule.ts'
import { openPostgres } from './postgres.ts'
import { openRedis } from './redis.ts'
import type { BackendKind, StoreConnection, StoreOptions } from './store-connection.ts'
import { createStoreErrorLog, isStoreConnectionError } from './store-errors.ts'

export type JobWorker<D> = Worker<D, void, string, IQueueBackend, JobProgress, BackendKind>
export type RunningJob<D> = Job<D, void, string>

/** `signal`: the worker was asked to release the job (`worker.cancelAllJobs`). */
export type JobHandler<D> = (job: RunningJob<D>, signal: AbortSignal) => Promise<JobResult>
export type JobWorkerOptions = Omit<WorkerOptions<BackendKind>, 'connection' | 'prefix' | 'useWorkerThreads'>

export type Backend = Pick<StoreConnection, 'kind' | 'warnings' | 'ping'> & {
  /** Opens a queue. Closed with the backend, or before. */
  readonly queue: <D>(name: string) => JobQueue<D>
  /** Starts a worker at once. Closed with the backend, or before; active jobs are finished first. */
  readonly worker: <D>(name: string, work: JobHandler<D>, options?: JobWorkerOptions) => JobWorker<D>
  /** Brings these schedules up to date, safely with other processes doing the same. Other schedules stay. */
  readonly ensureSchedules: <D>(queue: JobQueue<D>, schedules: readonly JobSchedule<D>[]) => Promise<void>
  /** Whether the error means that the store is disconnected; if so, logs it, so that callers need not. */
  readonly isConnectionError: (error: unknown) => boolean
  /** Waits for active jobs, without a limit. If the store is disconnected, timers of BullMQ may live on for a minute. */
  readonly close: () => Promise<void>
}

export type BackendOptions = Pick<StoreOptions, 'folder' | 'log'> &
  Partial<StoreOptions> & {
    readonly onError?: () => void
    /** Installations that share a store have queues of their own. */
    readonly installation?: string
  }

const defaults = { prefix: 'deskmirror', connectTimeoutMs: 30_000, requestTimeoutMs: 15_000, onFatal: () => {} }

/** `queueUrl`: `redis://…`, `rediss://…`, `postgres://…` or `embedded`. Throws UserError: unreachable, refused, in use. */
export async function openBackend(queueUrl: string, options: BackendOptions): Promise<Backend> {
  const store = await openStore(queueUrl, { ...defaults, ...options })
  for (const warning of store.warnings) options.log.warn({ event: 'queue.warning', backend: store.kind, why: warning })
  return createBackend(store, options)
}

function openStore(queueUrl: string, options: StoreOptions): Promise<StoreConnection> {
  if (queueUrl === 'embedded') return openEmbedded(options)
  return /^rediss?:/.test(queueUrl) ? openRedis(queueUrl, options) : openPostgres(queueUrl, options)
}

/** Completed jobs are removed; the last failed ones are kept for inspection. */
const defaultJobOptions = { removeOnComplete: true, removeOnFail: { count: 200, age: 7 * 86_400 }, stackTraceLimit: 1 }

/** A lock is renewed at half its duration; jobs of a killed process are taken over within a minute or two. */
const workerDefaults = {
  lockDuration: 60_000,
  stalledInterval: 30_000,
  maxStalledCount: 3,
  // How soon a disconnected server is tried again.
  runRetryDelay: 2_000,
  // Far more than can run. But a worker without a limiter does not check whether another one paused the queue.
  limiter: { max: 1_000_000, duration: 1_000 },
}

/**
 * How long an idle worker waits for a notification before it looks by itself, in seconds; 5 by default. Within a process
 * no notification is lost.
 */
const idleOptions: Readonly<Record<BackendKind, { readonly drainDelay?: number }>> = {
  embedded: { drainDelay: 60 },
  redis: {},
  postgres: {},
}

/** A worker of BullMQ whose Redis is disconnected never closes. By then its jobs are done, or will run again. */
const closeTimeoutMs = 3_000

const noop = () => {}

function createBackend(
  store: StoreConnection,
  { log, installation, onError: countError = noop }: BackendOptions,
): Backend {
  const fullName = (name: string) => (installation === undefined ? name : `${name}.${installation}`)
  const queues: { close: () => Promise<void> }[] = []
  const workers: { close: () => Promise<void> }[] = []
  const activeJobs = createActiveJobs()
  const storeOptions = { connection: store.kind, ...(store.prefix === null ? {} : { prefix: store.prefix }) }
  const { onError, stop } = createStoreErrorLog(store, log, countError)

  const queue = <D>(name: string): JobQueue<D> => {
    const opened: JobQueue<D> = new Queue(fullName(name), { ...storeOptions, defaultJobOptions }, store.factory)
    opened.on('error', onError)
    queues.push(opened)
    return opened
  }

  const worker = <D>(name: string, work: JobHandler<D>, options: JobWorkerOptions = {}): JobWorker<D> => {
    store.reserveConnection()
    const process = async (job: RunningJob<D>, token?: string, signal?: AbortSignal): Promise<void> => {
      const result = work(job, signal ?? new AbortController().signal)
      activeJobs.add(result)
      await applyJobResult(await result, {
        delay: async (at) => {
          await store.sendToBack(fullName(name), job.id ?? '')
          await job.moveToDelayed(at, token)
        },
        pauseQueue: (forMs) => opened.rateLimit(forMs),
      })
    }
    const workerOptions = { ...workerDefaults, ...idleOptions[store.kind], ...options, ...storeOptions }
    const opened: JobWorker<D> = new Worker(fullName(name), process, workerOptions, store.factory)
    opened.on('error', onError)
    workers.push(opened)
    return opened
  }

  const close = async () => {
    stop()
    const closed = Promise.allSettled(workers.map((worker) => worker.close()))
    await activeJobs.settle()
    const closedInOrder = closed.then(() => Promise.allSettled(queues.map((queue) => queue.close())))
    await Promise.race([closedInOrder, sleep(closeTimeoutMs, undefined, { ref: false })])
    await store.close()
  }
  const ensureSchedules = <D>(of: JobQueue<D>, schedules: readonly JobSchedule<D>[]) =>
    store.runExclusively(async () => {
      for (const schedule of schedules) await ensureSchedule(of, schedule, Date.now())
    })
  const reportIfConnectionError = (error: unknown) => {
    const isConnectionLost = isStoreConnectionError(error)
    if (isConnectionLost && error instanceof Error) onError(error)
    return isConnectionLost
  }
  const { kind, warnings, ping } = store
  return { kind, warnings, queue, worker, ensureSchedules, ping, isConnectionError: reportIfConnectionError, close }
}

/** BullMQ's own close does not end while the store is disconnected, so the jobs are waited for here. */
function createActiveJobs() {
  const active = new Set<Promise<void>>()
  return {
    add(result: Promise<unknown>): void {
      const settled = result.then(noop, noop).finally(() => active.delete(settled))
      active.add(settled)
    },
    async settle(): Promise<void> {
      while (active.size > 0) await Promise.race(active)
    },
  }
}
