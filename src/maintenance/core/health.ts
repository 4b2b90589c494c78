/** The health of one project's mirror in numbers, measured repeatedly while the worker runs. */

import type { StreamName } from '../../../schema/stream-specs.ts'
import type { BudgetView } from '../../service/core/budget.ts'
import type { ProjectName } from '../../values/project.ts'
import type { Ms } from '../../values/time.ts'
import { type FailingJob, failedStream } from './job-failure.ts'

/** What the warehouse counts of a project. */
export type ProjectCounts = {
  /** Open gaps: data known to be missing. */
  readonly gaps: number
  /** Write-backs by state. */
  readonly writebacks: Readonly<Record<string, number>>
}

export type ProjectHealth = ProjectCounts & {
  /** The project's name. */
  readonly project: ProjectName
  readonly streams: readonly StreamHealth[]
  /** Null: this process has not used it yet. */
  readonly budget: BudgetView | null
  /** Nothing is read because the service denies the key. */
  readonly isPaused: boolean
  /** No write-back is sent because the warehouse went back in time. */
  readonly isHeld: boolean
}

type StreamHealth = {
  readonly stream: StreamName
  /** Time since the stream was last read completely; null = never. */
  readonly lagMs: Ms | null
  /** Parents whose children are still to be read. */
  readonly pendingChildren: number
  /** The last sync run failed. */
  readonly isFailed: boolean
  /** Not read because the key lacks its scope. */
  readonly isSkipped: boolean
}

/** Marks the streams of failing sync jobs as failed: a sync that threw could not record it. */
export function withFailingJobs(all: readonly ProjectHealth[], failing: readonly FailingJob[]): ProjectHealth[] {
  const isFailing = (project: ProjectName, stream: StreamName) =>
    failing.some(({ identity, failure }) => identity.project?.name === project && failedStream(failure) === stream)
  return all.map((health) => ({
    ...health,
    streams: health.streams.map((it) => (isFailing(health.project, it.stream) ? { ...it, isFailed: true } : it)),
  }))
}
