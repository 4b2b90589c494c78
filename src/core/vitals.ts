/** How the mirror of one project stands, in numbers: what is measured again and again while the worker runs. */
import { type FailingJob, streamOf } from './job-failure.ts'
import type { BudgetView } from './report.ts'
import type { StreamName } from './row.ts'
import type { Ms } from './time.ts'

export type Vitals = {
  /** The project's name. */
  readonly project: string
  readonly streams: readonly StreamVitals[]
  /** Open gaps: what is known to be missing. */
  readonly gaps: number
  /** How many write-backs are in each state. */
  readonly writebacks: Readonly<Record<string, number>>
  /** Null: not used by this process yet. */
  readonly budget: BudgetView | null
  /** Nothing is read, because the service denies the key. */
  readonly paused: boolean
}

export type StreamVitals = {
  readonly stream: StreamName
  /** Since the stream last came to its end without failure; null = it never did. */
  readonly lagMs: Ms | null
  /** Parents whose children are still to be read. */
  readonly due: number
  /** The last pass failed. */
  readonly failed: boolean
  /** Not read, as the key lacks its scope. */
  readonly skipped: boolean
}

/** A pass that threw did not live to note that its stream failed. */
export function withFailing(all: readonly Vitals[], failing: readonly FailingJob[]): Vitals[] {
  const fails = (project: string, stream: StreamName) =>
    failing.some(({ about, failure }) => about.project?.name === project && streamOf(failure) === stream)
  return all.map((vitals) => ({
    ...vitals,
    streams: vitals.streams.map((it) => (fails(vitals.project, it.stream) ? { ...it, failed: true } : it)),
  }))
}
