/** What all types of jobs have in common: their data, their failures, and how they are counted. */

import type { ProjectConfig } from '../src/config/config.ts'
import type { Metrics } from '../src/http/metrics.ts'
import type { Logger } from '../src/log.ts'
import type { JobIdentity } from '../src/maintenance/core/job-failure.ts'
import { errorText } from '../src/values/system-error-text.ts'
import type { EpochMs, Ms } from '../src/values/time.ts'
import type { JobFailures } from '../src/worker/job-failures.ts'
import type { WorkerContext } from '../src/worker/worker-context.ts'
import type { JobHandler, JobResult } from './backends/backend.ts'
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

export type JobRun<Data> = {
  /** Null: data of another version, or of another program. */
  readonly data: Data | null
  /** Undefined: it names none, or one that is no longer configured. */
  readonly project: ProjectConfig | undefined
  readonly identity: JobIdentity
  /** When the job was added. */
  readonly addedAt: EpochMs
}

export type JobType<Data> = {
  readonly parse: (data: unknown) => Data | null
  /** The identity, as far as the data names it. */
  readonly identityOf: (data: Data | null) => Pick<JobIdentity, 'job'> & Partial<JobIdentity>
  /** `missing`: what is not configured here. The job is left to a worker that may know it, or dropped. */
  readonly run: (run: JobRun<Data>, deps: JobDeps) => Promise<JobResult | { readonly missing: string }>
  /** What follows whatever `run` throws; by default the job's `attempts` decide whether it runs again. */
  readonly afterError?: (data: Data | null, why: string, sinceMs: Ms) => JobResult
}

/** Longer than a change of the configuration is rolled out. */
const leaveToOthersForMs: Ms = 15 * 60_000

/** Catches whatever a job throws once: logs, counts and records it. */
export function createJobHandler<Data extends object>(
  queue: string,
  { parse, identityOf, run, afterError = (_, why) => ({ do: 'retry', why }) }: JobType<Data>,
  deps: JobDeps,
): JobHandler<unknown> {
  const { failures, metrics, findProject, isQueueConnectionError, workerContext, random, log } = deps
  return async (job) => {
    const data = parse(job.data)
    const project = data !== null && 'project' in data ? findProject(String(data.project)) : undefined
    const identity: JobIdentity = { project: project ?? null, key: '', stream: null, ...identityOf(data) }
    try {
      const result = await run({ data, project, identity, addedAt: job.timestamp }, deps)
      if ('missing' in result) {
        const isRecent = Date.now() - job.timestamp < leaveToOthersForMs
        if (isRecent && (await workerContext.workersDiffer())) return { do: 'delay', afterMs: 1000 + random() * 2000 }
        log.info({ event: 'job.dropped', queue, id: job.id, why: `the configuration has no such ${result.missing}` })
        return { do: 'done' }
      }
      if (data !== null) metrics.countJob({ queue, result: result.do })
      return result
    } catch (error) {
      await failures.recordFailure(identity, error, isQueueConnectionError(error))
      const result = afterError(data, errorText(error), Date.now() - job.timestamp)
      metrics.countJob({ queue, result: result.do })
      return result
    }
  }
}

type JobEnd = { readonly kind: 'failed'; readonly why: string } | { readonly kind: string }

/** Records how a job ended. Returns whether it failed and had not failed before, or for another reason. */
export async function recordJobEnd({ failures }: JobDeps, identity: JobIdentity, end: JobEnd): Promise<boolean> {
  if (end.kind === 'done' || end.kind === 'more') await failures.recordSuccess(identity)
  return 'why' in end && end.kind === 'failed' && failures.recordFailure(identity, end.why, true)
}
