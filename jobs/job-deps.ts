/** The dependencies of the worker's jobs. */
import type { JobFailures } from '../src/app/worker/job-failures.ts'
import type { WorkerContext } from '../src/app/worker/worker-context.ts'
import type { ProjectConfig } from '../src/config/config.ts'
import type { Ms } from '../src/core/time.ts'
import type { Metrics } from '../src/http/metrics.ts'
import type { Logger } from '../src/log.ts'
import type { RunningJob } from './backends/backend.ts'
import type { JobResult } from './job-result.ts'
import type { PlannedSyncJob } from './schedule-plan.ts'

export type JobDeps = {
  readonly workerContext: WorkerContext
  /** Finds a project by its name; undefined if it is no longer configured. */
  readonly findProject: (name: string) => ProjectConfig | undefined
  readonly enqueueSyncJobs: (all: readonly PlannedSyncJob[]) => Promise<void>
  readonly metrics: Metrics
  readonly failures: JobFailures
  /** Whether the error means that the queue's store is disconnected; the log has that already. */
  readonly isQueueConnectionError: (error: unknown) => boolean
  readonly log: Logger
  readonly sliceMs: Ms
  /** The project configurations whose rollups this worker has checked. */
  readonly rollupsChecked: WeakSet<ProjectConfig>
  /** The worker stops: the current page is the last one. */
  readonly stopping: AbortSignal
  /** Returns a number from 0 to below 1. */
  readonly random: () => number
}

/** Ends a job whose project or stream is no longer configured. */
export function dropJob(queue: string, { id }: RunningJob<unknown>, { log }: JobDeps, what: string): JobResult {
  log.info({ event: 'job.dropped', queue, id, why: `the configuration has no such ${what}` })
  return { do: 'done' }
}
