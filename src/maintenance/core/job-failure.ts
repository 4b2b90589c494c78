/** The failing jobs of a worker. A failure is recorded until the same job succeeds. */
import { type StreamName, streamNames } from '../../../schema/stream-specs.ts'
import type { ProjectId, ProjectName } from '../../values/project.ts'
import type { EpochMs, Ms } from '../../values/time.ts'

/**
 * `maintenance` restores schedules and overdue work. `outbox_poll` looks for write-backs that can
 * be sent. `queue`: not a job, but none of this queue runs, because someone paused it.
 * `write_ahead_log`: not a job, but the log of SQLite grows.
 */
const jobKinds = [
  'sync',
  'writebacks',
  'schedule',
  'housekeeping',
  'maintenance',
  'outbox_poll',
  'queue',
  'write_ahead_log',
] as const
export type JobKind = (typeof jobKinds)[number]

export type JobIdentity = {
  readonly job: JobKind
  /** Null: all projects. */
  readonly project: { readonly name: ProjectName; readonly projectId: ProjectId } | null
  /**
   * The stream and mode of a sync, a lane or a schedule; empty if a project has only one such job.
   */
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

const minuteMs: Ms = 60_000
const dayMs: Ms = 86_400_000

/**
 * A failure expires after this time without a new one, because its job may no longer exist. Failing
 * lanes are retried within minutes; a schedule may fire only once a week.
 */
const expiresAfterMs: Readonly<Record<JobKind, Ms>> = {
  sync: 8 * dayMs,
  schedule: 8 * dayMs,
  housekeeping: 2 * dayMs,
  writebacks: 15 * minuteMs,
  maintenance: 15 * minuteMs,
  outbox_poll: 15 * minuteMs,
  queue: 15 * minuteMs,
  write_ahead_log: 15 * minuteMs,
}

/**
 * While the warehouse cannot be used, jobs repeat, and fail, within seconds: silence means that the
 * job is gone.
 */
const repeatsWithinMs: Ms = 2 * minuteMs

export function isExpired(
  { job, lastAt }: Pick<JobFailure, 'job' | 'lastAt'>,
  now: EpochMs,
  isWarehouseError: boolean,
): boolean {
  const isRepeated = isWarehouseError && !['sync', 'schedule', 'housekeeping'].includes(job)
  return now - lastAt > (isRepeated ? repeatsWithinMs : expiresAfterMs[job])
}

/**
 * The stream that a failing sync job does not read; null for other jobs, and for an audit, without
 * which it is read.
 */
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

export const parseJobKind = (text: string): JobKind | null =>
  jobKinds.find((kind) => kind === text) ?? null
