/**
 * The queue of a single worker, in memory. It may lose everything: the work is in the warehouse.
 */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { loadCronParser } from '../../src/config/schedules.ts'
import type { EpochMs, Ms } from '../../src/values/time.ts'
import { errorText } from '../../src/values/user-error.ts'
import type {
  Backend,
  JobHandler,
  JobQueue,
  JobResult,
  JobSchedule,
  NewJob,
  Recurrence,
} from './backend.ts'

export function openInProcess(): Backend {
  const queues = new Map<string, ReturnType<typeof createQueue>>()
  const queueOf = (name: string) => {
    const queue = queues.get(name) ?? createQueue()
    queues.set(name, queue)
    return queue
  }
  return {
    kind: 'embedded',
    warnings: [],
    queue: (name) => queueOf(name).port,
    worker: (name, work, { concurrency = 1 } = {}) =>
      queueOf(name).start(work as JobHandler<unknown>, concurrency),
    ensureSchedules: async (of, schedules) =>
      [...queues.values()].find(({ port }) => port === of)?.setSchedules(schedules),
    resumeStep: () => '',
    loadBoard: null,
    ping: async () => {},
    close: async () => void (await Promise.all([...queues.values()].map(({ close }) => close()))),
  }
}

/** `failures`: attempts that were used. `next`: to be added when it has ended. */
type QueuedJob = NewJob<unknown> & {
  readonly id: string
  readonly timestamp: EpochMs
  failures: number
  next: NewJob<unknown> | null
}

/** A timer does not count while the machine sleeps, and the clock can be set. */
const checkClockMs: Ms = 10_000

function createQueue() {
  /** In the order in which they start. */
  const waiting = new Set<QueuedJob>()
  const delayed = new Map<QueuedJob, NodeJS.Timeout>()
  const active = new Map<QueuedJob, Promise<void>>()
  /** Jobs that wait, are delayed or run, by their deduplication id. */
  const byKey = new Map<string, QueuedJob>()
  const schedules = new Map<
    string,
    { readonly schedule: JobSchedule<unknown>; nextAt: EpochMs; lastRun: QueuedJob | null }
  >()
  let worker: { readonly work: JobHandler<unknown>; readonly concurrency: number } | null = null
  let isClosed = false
  let clockTimer: NodeJS.Timeout | undefined
  let checkedAt: EpochMs = 0

  const add = (job: NewJob<unknown>): QueuedJob => {
    const key = job.opts?.deduplication?.id
    const existing = key === undefined ? undefined : byKey.get(key)
    if (existing !== undefined) {
      if (job.opts?.deduplication?.keepLastIfActive === true && active.has(existing))
        existing.next = job
      return existing
    }
    const added = { ...job, id: randomUUID(), timestamp: Date.now(), failures: 0, next: null }
    if (key !== undefined) byKey.set(key, added)
    const delayMs = job.opts?.delay ?? 0
    if (delayMs === 0) waiting.add(added)
    else if (!isClosed) delay(added, delayMs)
    startWaiting()
    return added
  }
  const startWaiting = () => {
    for (const job of waiting) {
      if (isClosed || worker === null || active.size >= worker.concurrency) return
      waiting.delete(job)
      active.set(job, run(job, worker.work))
    }
  }
  const run = async (job: QueuedJob, work: JobHandler<unknown>): Promise<void> => {
    // What adds a job continues first.
    await null
    const result = await work(job).catch(
      (error: unknown): JobResult => ({ do: 'retry', why: errorText(error) }),
    )
    active.delete(job)
    const delayMs = delayAfter(job, result)
    if (delayMs === null) end(job)
    else if (!isClosed) delay(job, delayMs)
    startWaiting()
  }
  const delay = (job: QueuedJob, forMs: Ms) => {
    const wait = () => {
      delayed.delete(job)
      waiting.add(job)
      startWaiting()
    }
    delayed.set(job, setTimeout(wait, forMs))
  }
  const end = ({ opts, next }: QueuedJob) => {
    if (opts?.deduplication !== undefined) byKey.delete(opts.deduplication.id)
    if (next !== null) add(next)
  }

  /** Adds one job for each schedule that is due, however long it has been. */
  const fireSchedules = () => {
    clearTimeout(clockTimer)
    if (isClosed) return
    const now = Date.now()
    const wasSetBack = now < checkedAt
    checkedAt = now
    let earliest = now + checkClockMs
    for (const entry of schedules.values()) {
      const { job, data, recurrence } = entry.schedule
      const isPending =
        entry.lastRun !== null && (waiting.has(entry.lastRun) || delayed.has(entry.lastRun))
      const isDue = entry.nextAt <= now
      if (isDue && !isPending) entry.lastRun = add({ name: job, data })
      if (isDue || wasSetBack) entry.nextAt = nextFiring(recurrence, now)
      earliest = Math.min(earliest, entry.nextAt)
    }
    clockTimer = setTimeout(fireSchedules, earliest - now)
  }
  const port: JobQueue<unknown> = {
    addBulk: async (jobs) => {
      for (const job of jobs) add(job)
    },
    isPaused: async () => false,
    getJobSchedulersCount: async () => schedules.size,
    getJobSchedulers: async () => [...schedules].map(([key, { nextAt: next }]) => ({ key, next })),
    removeJobScheduler: async (id) => schedules.delete(id),
  }
  return {
    port,
    start: (work: JobHandler<unknown>, concurrency: number) => {
      worker = { work, concurrency }
      startWaiting()
    },
    setSchedules: (wanted: readonly JobSchedule<unknown>[]) => {
      for (const schedule of wanted) {
        const { id, recurrence } = schedule
        if (isDeepStrictEqual(schedules.get(id)?.schedule, schedule)) continue
        schedules.set(id, { schedule, nextAt: nextFiring(recurrence, Date.now()), lastRun: null })
      }
      fireSchedules()
    },
    /** Active jobs end first. */
    close: async () => {
      isClosed = true
      clearTimeout(clockTimer)
      for (const timer of delayed.values()) clearTimeout(timer)
      await Promise.all(active.values())
    },
  }
}

/** Null: it has ended. At least a millisecond, so that it returns behind the jobs that wait now. */
function delayAfter(job: QueuedJob, result: JobResult): Ms | null {
  if (result.do === 'delay') return Math.max(1, result.afterMs)
  if (result.do !== 'retry') return null
  const { attempts = 1, backoff } = job.opts ?? {}
  job.failures += 1
  return job.failures < attempts
    ? Math.max(1, (backoff?.delay ?? 0) * 2 ** (job.failures - 1))
    : null
}

function nextFiring(recurrence: Recurrence, now: EpochMs): EpochMs {
  if ('pattern' in recurrence) return parseCron(recurrence, now).next().getTime()
  return lastFiring(recurrence, now) + recurrence.every
}

/** The last time at which a schedule fired, or should have fired. */
export function lastFiring(recurrence: Recurrence, now: EpochMs): EpochMs {
  if ('pattern' in recurrence) return parseCron(recurrence, now).prev().getTime()
  const { every, offset } = recurrence
  return Math.floor((now - offset) / every) * every + offset
}

function parseCron({ pattern, tz }: Extract<Recurrence, { pattern: string }>, now: EpochMs) {
  return loadCronParser().CronExpressionParser.parse(pattern, { tz, currentDate: new Date(now) })
}
