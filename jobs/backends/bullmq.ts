/** The job queue on BullMQ: in Redis, or in a Postgres server. */
import { setTimeout as sleep } from 'node:timers/promises'
import { DelayedError, type Job, Queue, UnrecoverableError, Worker } from 'bullmq'
import type { Logger } from '../../src/log.ts'
import { assertNever } from '../../src/values/assert-never.ts'
import type { JobHandler, JobQueue, JobResult, JobSchedule, JobWorkerOptions } from './backend.ts'
import { type BullQueue, ensureSchedule } from './ensure-schedule.ts'
import type { StoreConnection } from './store-connection.ts'
import { createStoreErrorLog, isStoreConnectionError } from './store-errors.ts'

/** Completed jobs are removed; the last failed ones are kept for inspection. */
const defaultJobOptions = { removeOnComplete: true, removeOnFail: { count: 200, age: 7 * 86_400 }, stackTraceLimit: 1 }

/** A lock is renewed at half its duration; jobs of a killed process are taken over within a minute or two. */
const defaultLockMs = 60_000

/** How soon a disconnected server is tried again. */
const runRetryDelay = 2_000

/** A worker of BullMQ whose Redis is disconnected never closes. By then its jobs are done, or will run again. */
const closeTimeoutMs = 3_000

/** `installation`: installations that share a store have queues of their own. */
export function createBullBackend(
  store: StoreConnection,
  log: Logger,
  installation: string | undefined,
  countError: () => void,
) {
  const fullName = (name: string) => (installation === undefined ? name : `${name}.${installation}`)
  const queues: { close: () => Promise<void> }[] = []
  const workers: { close: () => Promise<void> }[] = []
  const activeJobs = createActiveJobs()
  const storeOptions = { connection: store.kind, ...(store.prefix === null ? {} : { prefix: store.prefix }) }
  const { onError, stop } = createStoreErrorLog(store, log, countError)

  const queue = <D>(name: string): BullQueue<D> => {
    const opened: BullQueue<D> = new Queue(fullName(name), { ...storeOptions, defaultJobOptions }, store.factory)
    opened.on('error', onError)
    queues.push(opened)
    return opened
  }

  const worker = <D>(name: string, work: JobHandler<D>, options: JobWorkerOptions = {}) => {
    const { concurrency = 1, lockMs = defaultLockMs } = options
    store.reserveConnection()
    const process = async (job: Job<D, void, string>, token?: string): Promise<void> => {
      const result = work(job)
      activeJobs.add(result)
      await applyJobResult(await result, async (at) => {
        await store.sendToBack(fullName(name), job.id ?? '')
        await job.moveToDelayed(at, token)
      })
    }
    const workerOptions = { concurrency, lockDuration: lockMs, stalledInterval: lockMs / 2, maxStalledCount: 3 }
    const opened = new Worker(
      fullName(name),
      process,
      { ...workerOptions, runRetryDelay, ...storeOptions },
      store.factory,
    )
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
      for (const schedule of schedules) await ensureSchedule(of as BullQueue<D>, schedule, Date.now())
    })
  const reportIfConnectionError = (error: unknown) => {
    const isConnectionLost = isStoreConnectionError(error)
    if (isConnectionLost && error instanceof Error) onError(error)
    return isConnectionLost
  }
  const { kind, warnings, ping, resumeStep } = store
  return {
    kind,
    warnings,
    resumeStep,
    queue,
    worker,
    ensureSchedules,
    ping,
    isConnectionError: reportIfConnectionError,
    close,
  }
}

/**
 * Returns, or throws what BullMQ expects. The caller must not catch it.
 * Source: BullMQ's documentation, "Process step jobs", "Stop retrying jobs", read 2026-11-21.
 */
async function applyJobResult(result: JobResult, delayUntil: (at: number) => Promise<void>): Promise<void> {
  switch (result.do) {
    case 'done':
      return
    case 'delay':
      // Postgres takes no fractions, and 0 would not move a job behind the others.
      await delayUntil(Date.now() + Math.max(1, Math.ceil(result.afterMs)))
      throw new DelayedError()
    case 'give up':
      throw new UnrecoverableError(result.why)
    case 'retry':
      throw new Error(result.why)
    default:
      return assertNever(result)
  }
}

const noop = () => {}

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
