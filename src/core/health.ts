/** How the mirror of one project stands, in numbers: what is measured again and again while the worker runs. */
import { type FailingJob, failedStream } from './job-failure.ts'
import type { BudgetView } from './report.ts'
import type { StreamName } from './row.ts'
import type { Ms } from './time.ts'

export type ProjectHealth = {
  /** The project's name. */
  readonly project: string
  readonly streams: readonly StreamHealth[]
  /** Open gaps: what is known to be missing. */
  readonly gaps: number
  /** How many write-backs are in each state. */
  readonly writebacks: Readonly<Record<string, number>>
  /** Null: not used by this process yet. */
  readonly budget: BudgetView | null
  /** Nothing is read, because the service denies the key. */
  readonly isPaused: boolean
}

export type StreamHealth = {
  readonly stream: StreamName
  /** Since the stream last came to its end without failure; null = it never did. */
  readonly lagMs: Ms | null
  /** Parents whose children are still to be read. */
  readonly pendingChildren: number
  /** The last pass failed. */
  readonly isFailed: boolean
  /** Not read, as the key lacks its scope. */
  readonly isSkipped: boolean
}

/** A pass that threw did not live to note that its stream failed. */
export function withFailingJobs(all: readonly ProjectHealth[], failing: readonly FailingJob[]): ProjectHealth[] {
  const isFailing = (project: string, stream: StreamName) =>
    failing.some(({ subject: about, failure }) => about.project?.name === project && failedStream(failure) === stream)
  return all.map((vitals) => ({
    ...vitals,
    streams: vitals.streams.map((it) => (isFailing(vitals.project, it.stream) ? { ...it, isFailed: true } : it)),
  }))
}
