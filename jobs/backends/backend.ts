/** The job queue, whatever it is kept in: Redis, or this process. */
import type { BackendKind } from '../../src/config/queue-backends.ts'
import type { RoutesPlugin } from '../../src/http/http.ts'
import type { EpochMs, Ms } from '../../src/values/time.ts'
import { UserError } from '../../src/values/user-error.ts'

export type Backend = {
  readonly kind: BackendKind
  /** Sentences for people about what works but should be changed. */
  readonly warnings: readonly string[]
  /** Opens a queue. Closed with the backend, or before. */
  readonly queue: <D>(name: string) => JobQueue<D>
  /** Starts at once, one for each queue and backend. Active jobs are finished before it closes. */
  readonly worker: <D>(name: string, work: JobHandler<D>, options?: JobWorkerOptions) => void
  /** Brings these up to date, while other processes may do the same. Other schedules stay. */
  readonly ensureSchedules: <D>(
    queue: JobQueue<D>,
    schedules: readonly JobSchedule<D>[],
  ) => Promise<void>
  /** How a person resumes a queue of this name in Redis; empty if none can be paused. */
  readonly resumeStep: (queue: string) => string
  /** Its pages below `/queues`; null: it has none. */
  readonly loadBoard: (() => Promise<RoutesPlugin>) | null
  /** Rejects within seconds when Redis does not answer, or refuses writes. */
  readonly ping: () => Promise<void>
  /** Waits for active jobs, without a limit. */
  readonly close: () => Promise<void>
}

/** The queue's server does not answer at present, as its log says, too. */
export class QueueUnavailableError extends UserError {}

/** What is used of a queue of BullMQ; the queue in this process has the same. */
export type JobQueue<D> = {
  /** In Redis; without it the queue is never paused. Each call may throw QueueUnavailableError. */
  readonly name?: string
  addBulk(jobs: NewJob<D>[]): Promise<unknown>
  isPaused(): Promise<boolean>
  getJobSchedulersCount(): Promise<number>
  getJobSchedulers(
    start: number,
    end: number,
  ): Promise<{ readonly key: string; readonly next?: EpochMs }[]>
  removeJobScheduler(id: string): Promise<boolean>
}

export type NewJob<D> = {
  readonly name: string
  readonly data: D
  readonly opts?: {
    readonly delay?: Ms
    /** How often it runs if it fails; by default once. */
    readonly attempts?: number
    /** `delay`: before the second attempt; doubled before each further one. */
    readonly backoff?: { readonly type: 'exponential'; readonly delay: Ms }
    /**
     * While a job with this id exists, no other one is added. With `keepLastIfActive`, the last
     * that was added while it ran is added when it has ended.
     */
    readonly deduplication?: { readonly id: string; readonly keepLastIfActive?: boolean }
  }
}

/** `timestamp`: when it was added. */
export type JobHandler<D> = (job: {
  readonly id?: string
  readonly data: D
  readonly timestamp: EpochMs
}) => Promise<JobResult>

export type JobResult =
  | { readonly do: 'done' }
  /** The same job again, behind those that wait. Keeps its deduplication id, uses no attempt. */
  | { readonly do: 'delay'; readonly afterMs: Ms }
  /** Failed permanently, whatever attempts are left. */
  | { readonly do: 'give up'; readonly why: string }
  /** An attempt is used; the job's own `attempts` and `backoff` decide about the next one. */
  | { readonly do: 'retry'; readonly why: string }

export type JobWorkerOptions = {
  readonly concurrency?: number
  /** Without a heartbeat for so long, a job counts as abandoned, if others can take it over. */
  readonly lockMs?: Ms
}

/** `offset`: within each period, counted from 1970, so that schedules do not fire together. */
export type Recurrence =
  | { readonly every: Ms; readonly offset: Ms }
  /** Five or six fields of cron, and an IANA time zone. */
  | { readonly pattern: string; readonly tz: string }

export type JobSchedule<D> = {
  readonly id: string
  readonly recurrence: Recurrence
  readonly job: string
  readonly data: D
}
