/** What fails in a worker, by what was being done: noted until the same has succeeded. Pure. */
import { type StreamName, streamNames } from './row.ts'
import type { EpochMs, Ms } from './time.ts'

/** `maintenance`: schedules and overdue work are looked after. `outbox_poll`: write-backs that can be sent are looked for. */
export const jobKinds = [
  'pass',
  'writebacks',
  'webhooks',
  'schedule',
  'housekeeping',
  'maintenance',
  'outbox_poll',
] as const
export type JobKind = (typeof jobKinds)[number]

export type JobSubject = {
  readonly job: JobKind
  /** Null: it is about all of them. */
  readonly project: { readonly name: string; readonly projectId: string } | null
  /** A pass's stream and mode, a lane, a schedule; empty where there is one such job of a project. */
  readonly subject: string
  readonly stream: StreamName | null
}

export type JobFailure = {
  readonly job: JobKind
  /** Empty: it is about all of them. */
  readonly projectId: string
  readonly subject: string
  readonly since: EpochMs
  readonly lastAt: EpochMs
  readonly failures: number
  readonly reason: string
}

/** `byWarehouse`: the warehouse could not be used, so that it is worth trying again soon. */
export type FailingJob = {
  readonly subject: JobSubject
  readonly failure: JobFailure
  readonly isWarehouseError: boolean
}

const minuteMs: Ms = 60_000
const dayMs: Ms = 86_400_000

/**
 * After so long without a new failure it counts as over, although it has not succeeded: what it was about may be gone. A
 * lane or a delivery that still fails is tried again within minutes, a schedule may fire once a week.
 */
const expiresAfterMs: Readonly<Record<JobKind, Ms>> = {
  pass: 8 * dayMs,
  schedule: 8 * dayMs,
  housekeeping: 2 * dayMs,
  writebacks: 15 * minuteMs,
  webhooks: 120 * minuteMs,
  maintenance: 15 * minuteMs,
  outbox_poll: 15 * minuteMs,
}

export function isExpired({ job, lastAt }: Pick<JobFailure, 'job' | 'lastAt'>, now: EpochMs): boolean {
  return now - lastAt > expiresAfterMs[job]
}

/** The stream that the failing pass is over. */
export function failedStream({ job, subject }: Pick<JobFailure, 'job' | 'subject'>): StreamName | null {
  const [named] = subject.split('/')
  return job === 'pass' ? (streamNames.find((stream) => stream === named) ?? null) : null
}

export function parseJobKind(text: string): JobKind | null {
  return jobKinds.find((kind) => kind === text) ?? null
}
