/** The job queue on BullMQ, in Redis. */
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import {
  DelayedError,
  type Job,
  type JobSchedulerJson,
  Queue,
  UnrecoverableError,
  Worker,
} from 'bullmq'
import type { Logger } from '../../../src/log.ts'
import type { EpochMs } from '../../../src/values/time.ts'
import { assertNever } from '../../../src/values/user-error.ts'
import type {
  JobHandler,
  JobQueue,
  JobResult,
  JobSchedule,
  JobWorkerOptions,
  Recurrence,
} from '../backend.ts'
import type { openRedis } from './redis.ts'
import { createRedisErrorLog, nameServer } from './redis-errors.ts'

/** Completed jobs are removed; the last failed ones are kept for inspection. */
const defaultJobOptions = {
  removeOnComplete: true,
  removeOnFail: { count: 200, age: 7 * 86_400 },
  stackTraceLimit: 1,
}

/** Renewed at half of it; jobs of a killed process are taken over within a minute or two. */
const defaultLockMs = 60_000

/** How soon a disconnected server is tried again. */
const runRetryDelay = 2_000

/** A worker of BullMQ whose Redis is disconnected never closes. */
const closeTimeoutMs = 3_000

/** `installation`: installations that share a Redis have queues of their own. */
export function createBullBackend(
  redis: Awaited<ReturnType<typeof openRedis>>,
  log: Logger,
  installation: string | undefined,
  countError: () => void,
) {
  const fullName = (name: string) => (installation === undefined ? name : `${name}.${installation}`)
  const queues: Queue[] = []
  const workers: { close: () => Promise<void> }[] = []
  // BullMQ's own close does not end while Redis is disconnected, so the jobs are waited for here.
  const activeJobs = new Set<Promise<unknown>>()
  const { server, warnings, prefix } = redis
  // BullMQ would print the warnings for each connection.
  const commonOptions = { prefix, skipVersionCheck: warnings.length > 0 }
  const { onError, stop } = createRedisErrorLog(redis, log, countError)

  /** Logs and names an outage, so that no caller takes it for one of another server. */
  const named = <T>(answer: Promise<T>): Promise<T> =>
    answer.catch((error: unknown) => {
      const explained = nameServer(server, error)
      if (explained !== error) onError(error as Error)
      throw explained
    })
  const queue = <D>(name: string): BullQueue<D> => {
    const options = { ...commonOptions, connection: redis.adding, defaultJobOptions }
    const opened: BullQueue<D> = new Queue(fullName(name), options)
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
    const process = async (job: Job<D, void, string>, token?: string): Promise<void> => {
      const result = work(job)
      const settled = result.catch(() => {}).finally(() => activeJobs.delete(settled))
      activeJobs.add(settled)
      await applyJobResult(await result, (at) => job.moveToDelayed(at, token))
    }
    const opened = new Worker(fullName(name), process, {
      ...commonOptions,
      connection: redis.running,
      concurrency,
      lockDuration: lockMs,
      stalledInterval: lockMs / 2,
      maxStalledCount: 3,
      runRetryDelay,
    })
    opened.on('error', onError)
    workers.push(opened)
    return opened
  }

  const close = async () => {
    stop()
    const closed = Promise.allSettled(workers.map((worker) => worker.close()))
    while (activeJobs.size > 0) await Promise.race(activeJobs)
    const closedInOrder = closed.then(() =>
      Promise.allSettled(queues.map((queue) => queue.close())),
    )
    await Promise.race([closedInOrder, sleep(closeTimeoutMs, undefined, { ref: false })])
    await redis.close()
  }
  const ensureSchedules = async <D>(of: JobQueue<D>, schedules: readonly JobSchedule<D>[]) => {
    for (const schedule of schedules)
      await named(ensureSchedule(of as BullQueue<D>, schedule, Date.now()))
  }
  return {
    kind: 'redis' as const,
    warnings,
    queue,
    worker,
    ensureSchedules,
    resumeStep: (name: string) => `${redis.commandLine} hdel ${prefix}:${name}:meta paused`,
    loadBoard: async () => (await import('./board.ts')).bullBoardPlugin(queues),
    ping: () => named(redis.ping()),
    close,
  }
}

/**
 * Returns, or throws what BullMQ expects. The caller must not catch it.
 * Source: BullMQ's documentation, "Process step jobs", "Stop retrying jobs", read 2026-11-21.
 */
async function applyJobResult(
  result: JobResult,
  delayUntil: (at: number) => Promise<void>,
): Promise<void> {
  switch (result.do) {
    case 'done':
      return
    case 'delay':
      // In whole milliseconds, and not 0, which would not move the job behind the others.
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

export type BullQueue<D> = Queue<D, void, string, D, void, string>

/**
 * Do not give scheduled jobs a deduplication id: BullMQ would take the next run for a duplicate and
 * stop.
 */
export async function ensureSchedule<D>(
  queue: BullQueue<D>,
  schedule: JobSchedule<D>,
  now: EpochMs,
): Promise<void> {
  const { id, recurrence, job, data } = schedule
  const existing: JobSchedulerJson<unknown> | undefined = await queue.getJobScheduler(id)
  if (existing !== undefined && isUpToDate(existing, schedule) && !hasStopped(existing, now)) return
  // Setting it again would keep the old position within the period.
  if (existing !== undefined && 'every' in recurrence && existing.every === recurrence.every)
    await queue.removeJobScheduler(id)
  await queue.upsertJobScheduler(id, toRepeatSettings(recurrence), { name: job, data })
}

function isUpToDate<D>(
  existing: JobSchedulerJson<unknown>,
  { recurrence, job, data }: JobSchedule<D>,
): boolean {
  const wanted = toRepeatSettings(recurrence)
  const isSame = Object.entries(wanted).every(
    ([name, value]) => existing[name as keyof typeof existing] === value,
  )
  const hasOtherKind = 'every' in wanted ? Boolean(existing.pattern) : Boolean(existing.every)
  return (
    isSame &&
    !hasOtherKind &&
    existing.name === job &&
    isDeepStrictEqual(existing.template?.data ?? {}, data)
  )
}

/** In whole milliseconds. An offset of 0 would start the period now. */
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
