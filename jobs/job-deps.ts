/** What the worker hands to its jobs. */
import type { JobFailures } from '../src/app/worker/job-failures.ts'
import type { WorkerContext } from '../src/app/worker/worker-context.ts'
import type { ProjectConfig } from '../src/config/load.ts'
import type { Ms } from '../src/core/time.ts'
import type { Metrics } from '../src/http/metrics.ts'
import type { Logger } from '../src/log.ts'
import type { RunningJob } from './backends/backend.ts'
import type { PlannedSyncJob } from './schedule-plan.ts'
import type { JobResult } from './job-result.ts'

export type JobDeps = {
  readonly workerContext: WorkerContext
  /** By its name; undefined: the configuration knows it no more. */
  readonly findProject: (name: string) => ProjectConfig | undefined
  readonly enqueueSyncJobs: (all: readonly PlannedSyncJob[]) => Promise<void>
  readonly metrics: Metrics
  readonly failures: JobFailures
  /** The error means that the queue's store is away, which the log has been told. */
  readonly isQueueConnectionError: (error: unknown) => boolean
  readonly log: Logger
  readonly sliceMs: Ms
  /** The projects, as they are configured now, whose rollups have been looked at since this worker knows them so. */
  readonly rollupsChecked: WeakSet<ProjectConfig>
  /** The worker stops: the page in hand is the last one. */
  readonly stopping: AbortSignal
  /** 0 to below 1. */
  readonly random: () => number
}

/** A job about what the configuration has no more. */
export function dropJob(queue: string, { id }: RunningJob<unknown>, { log }: JobDeps, what: string): JobResult {
  log.info({ event: 'job.dropped', queue, id, why: `the configuration has no such ${what}` })
  return { do: 'done' }
}
