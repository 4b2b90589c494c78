/** The failing jobs of a worker. A failure is recorded until the same job succeeds. */
import { type StreamName, streamNames } from '../../../schema/stream-specs.ts'
import type { ProjectId, ProjectName } from '../../values/project.ts'
import { dayMs, type EpochMs, type Ms, minuteMs } from '../../values/time.ts'

/**
 * How long a failure without a later one is believed: the job may no longer exist. Lanes are
 * retried soon, schedules may be weekly. `maintenance` restores schedules and overdue work,
 * `outbox_poll` looks for what can be sent, `notify` posts what people are to know. Not jobs:
 * `queue`, which someone paused, and `write_ahead_log` of SQLite, which grows.
 */
const expiresAfterMs = {
  sync: 8 * dayMs,
  writebacks: 15 * minuteMs,
  schedule: 8 * dayMs,
  lake: 8 * dayMs,
  housekeeping: 2 * dayMs,
  maintenance: 15 * minuteMs,
  outbox_poll: 15 * minuteMs,
  notify: 120 * minuteMs,
  queue: 15 * minuteMs,
  write_ahead_log: 15 * minuteMs,
} as const satisfies Readonly<Record<string, Ms>>
export type JobKind = keyof typeof expiresAfterMs

export type JobIdentity = {
  readonly job: JobKind
  /** Null: all projects. */
  readonly project: { readonly name: ProjectName; readonly projectId: ProjectId } | null
  /** Stream and mode, a lane or a schedule; empty if a project has only one such job. */
  readonly key: string
  readonly stream: StreamName | null
  /** Of a sync job. */
  readonly mode?: string | null
}

export type JobFailure = {
  readonly job: JobKind
  /** Empty: all projects. */
  readonly projectId: ProjectId
  readonly key: string
  readonly since: EpochMs
  readonly lastAt: EpochMs
  readonly failures: number
  readonly reason: string
}

/** `isWarehouseError`: the warehouse was not available, so a retry may soon succeed. */
export type FailingJob = {
  readonly identity: JobIdentity
  readonly failure: JobFailure
  readonly isWarehouseError: boolean
}

/** While the warehouse is away, jobs repeat within seconds: silence means that the job is gone. */
const repeatsWithinMs: Ms = 2 * minuteMs

export function isExpired(
  { job, lastAt }: Pick<JobFailure, 'job' | 'lastAt'>,
  now: EpochMs,
  isWarehouseError: boolean,
): boolean {
  const isRepeated = isWarehouseError && !['sync', 'schedule', 'lake', 'housekeeping'].includes(job)
  return now - lastAt > (isRepeated ? repeatsWithinMs : expiresAfterMs[job])
}

/** The stream that a failing job does not read: none for an audit, and for other jobs. */
export function failedStream(failure: Pick<JobFailure, 'job' | 'key'>): StreamName | null {
  const { stream, mode } = failedSync(failure)
  return mode === 'audit' ? null : stream
}

/** Whether a sync job of the stream fails: one that threw could not record it. */
export function isStreamFailing(
  failing: readonly FailingJob[],
  project: ProjectName,
  stream: StreamName,
): boolean {
  return failing.some(
    ({ identity, failure }) =>
      identity.project?.name === project && failedStream(failure) === stream,
  )
}

/** The stream and the mode of a failing sync job or audit. */
export function failedSync({ job, key }: Pick<JobFailure, 'job' | 'key'>) {
  const [named, mode = null] = job === 'sync' ? key.split('/') : []
  return { stream: streamNames.find((stream) => stream === named) ?? null, mode }
}

export const isJobKind = (text: string): text is JobKind => Object.hasOwn(expiresAfterMs, text)
