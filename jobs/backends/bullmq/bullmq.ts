/** The job queue on BullMQ: in Redis, or in a Postgres server. */
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import {
  type BackendFactory,
  DelayedError,
  type IQueueBackend,
  type Job,
  type JobSchedulerJson,
  Queue,
  UnrecoverableError,
  Worker,
} from 'bullmq'
import type { Logger } from '../../../src/log.ts'
import type { EpochMs, Ms } from '../../../src/values/time.ts'
import { assertNever } from '../../../src/values/user-error.ts'
import type { Backend, JobHandler, JobQueue, JobResult, JobSchedule, JobWorkerOptions, Recurrence } from '../backend.ts'
import { createStoreErrorLog, nameServer } from './store-errors.ts'

type StoreKind = 'redis' | 'postgres'

/** The factory holds the connection; BullMQ insists on a connection option, so it gets the kind's name. */
export type BullBackendFactory = BackendFactory<IQueueBackend, StoreKind>

export type StoreConnection = Pick<Backend, 'warnings' | 'resumeStep' | 'ping'> & {
  readonly kind: StoreKind
  /** Its address, for people. */
  readonly server: string
  readonly factory: BullBackendFactory
  /** The prefix of all keys if other programs share the store; null if the store has a schema of its own. */
  readonly prefix: string | null
  /** Raises the connection limit for one more worker, which holds a connection as long as it runs. */
  readonly reserveConnection: () => void
  /** Moves a job that is about to be delayed behind all that wait now. */
  readonly sendToBack: (queue: string, jobId: string) => Promise<void>
  /** Runs `work` while no other process runs such work. */
  readonly runExclusively: (work: () => Promise<void>) => Promise<void>
  /** To be called after all queues and workers are closed. */
  readonly close: () => Promise<void>
}

export type StoreOptions = {
  /** Prefix of the keys, or of the schema's name. */
  readonly prefix: string
  readonly connectTimeoutMs: Ms
  /** How long the server may take to respond when jobs are added; it may restart meanwhile. */
  readonly requestTimeoutMs: Ms
}

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
  // BullMQ's own close does not end while the store is disconnected, so the jobs are waited for here.
  const activeJobs = new Set<Promise<unknown>>()
  const storeOptions = { connection: store.kind, ...(store.prefix === null ? {} : { prefix: store.prefix }) }
  const { onError, stop } = createStoreErrorLog(store, log, countError)

  /** Logs and names an outage, so that no caller takes it for one of another server. */
  const named = <T>(answer: Promise<T>): Promise<T> =>
    answer.catch((error: unknown) => {
      const explained = nameServer(store.server, error)
      if (explained !== error) onError(error as Error)
      throw explained
    })
  const queue = <D>(name: string): BullQueue<D> => {
    const opened: BullQueue<D> = new Queue(fullName(name), { ...storeOptions, defaultJobOptions }, store.factory)
    opened.on('error', onError)
    queues.push(opened)
    return new Proxy(opened, {
      get: (target, key) => {
        const member: unknown = Reflect.get(target, key, target)
        if (typeof member !== 'function') return member
        return (...args: unknown[]) => {
          const answer: unknown = Reflect.apply(member, target, args)
          return answer instanceof Promise ? named(answer) : answer
        }
      },
    })
  }

  const worker = <D>(name: string, work: JobHandler<D>, options: JobWorkerOptions = {}) => {
    const { concurrency = 1, lockMs = defaultLockMs } = options
    store.reserveConnection()
    const process = async (job: Job<D, void, string>, token?: string): Promise<void> => {
      const result = work(job)
      const settled = result.catch(() => {}).finally(() => activeJobs.delete(settled))
      activeJobs.add(settled)
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
    while (activeJobs.size > 0) await Promise.race(activeJobs)
    const closedInOrder = closed.then(() => Promise.allSettled(queues.map((queue) => queue.close())))
    await Promise.race([closedInOrder, sleep(closeTimeoutMs, undefined, { ref: false })])
    await store.close()
  }
  const ensureSchedules = <D>(of: JobQueue<D>, schedules: readonly JobSchedule<D>[]) =>
    named(
      store.runExclusively(async () => {
        for (const schedule of schedules) await ensureSchedule(of as BullQueue<D>, schedule, Date.now())
      }),
    )
  const ping = () => named(store.ping())
  const loadBoard = async () => (await import('./board.ts')).bullBoardPlugin(queues)
  const { kind, warnings, resumeStep } = store
  return { kind, warnings, resumeStep, queue, worker, ensureSchedules, loadBoard, ping, close }
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

export type BullQueue<D> = Queue<D, void, string, D, void, string, IQueueBackend, StoreKind>

/**
 * Changes nothing if the schedule is up to date. Do not call it concurrently: in Postgres a schedule that is set twice at
 * the same time gets two runs, and skips one. Do not give scheduled jobs a deduplication id: BullMQ would take the next
 * run for a duplicate and stop.
 */
export async function ensureSchedule<D>(queue: BullQueue<D>, schedule: JobSchedule<D>, now: EpochMs): Promise<void> {
  const { id, recurrence, job, data } = schedule
  const existing: JobSchedulerJson<unknown> | undefined = await queue.getJobScheduler(id)
  if (existing !== undefined && isUpToDate(existing, schedule) && !hasStopped(existing, now)) return
  // Setting it again would keep the old position within the period.
  if (existing !== undefined && 'every' in recurrence && existing.every === recurrence.every)
    await queue.removeJobScheduler(id)
  await queue.upsertJobScheduler(id, toRepeatSettings(recurrence), { name: job, data })
}

function isUpToDate<D>(existing: JobSchedulerJson<unknown>, { recurrence, job, data }: JobSchedule<D>): boolean {
  const wanted = toRepeatSettings(recurrence)
  const isSame = Object.entries(wanted).every(([name, value]) => existing[name as keyof typeof existing] === value)
  const hasOtherKind = 'every' in wanted ? Boolean(existing.pattern) : Boolean(existing.every)
  return isSame && !hasOtherKind && existing.name === job && isDeepStrictEqual(existing.template?.data ?? {}, data)
}

/** Postgres takes no fractions. An offset of 0 would start the period now. */
function toRepeatSettings(recurrence: Recurrence) {
  if ('pattern' in recurrence) return recurrence
  const every = Math.max(1, Math.round(recurrence.every))
  return { every, offset: Math.max(1, Math.round(recurrence.offset) % every) }
}

/** How late a run may start before the schedule counts as stopped. */
const maxLateMs = 3_600_000

/** BullMQ can lose schedules: their next run stays in the past, and no job exists for it. */
function hasStopped({ next, every = 0 }: JobSchedulerJson<unknown>, now: EpochMs): boolean {
  return next === undefined || now - next > Math.max(maxLateMs, 2 * every)
}
