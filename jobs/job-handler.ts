/** What all kinds of jobs have in common. */
import type { Config, ProjectConfig } from '../src/config/config.ts'
import type { JobIdentity } from '../src/maintenance/maintenance.ts'
import type { EpochMs, Ms } from '../src/values/time.ts'
import { errorText } from '../src/values/user-error.ts'
import type { JobFailures, WorkerContext } from '../src/worker/worker.ts'
import { type JobHandler, type JobResult, QueueUnavailableError } from './backends/backend.ts'
import { type JobData, type PlannedSyncJob, parseJob, type QueueName } from './queues.ts'

export type JobDeps = {
  readonly context: WorkerContext
  readonly config: () => Config
  /** Undefined: it is no longer configured. */
  readonly findProject: (name: string) => ProjectConfig | undefined
  readonly enqueueSyncJobs: (all: readonly PlannedSyncJob[]) => Promise<void>
  readonly failures: JobFailures
  readonly sliceMs: Ms
  /** The worker stops: the current page is the last one. */
  readonly stopping: AbortSignal
}

export type JobType<Data> = {
  /** The identity, as far as the data names it. */
  readonly identityOf: (data: Data | null) => Pick<JobIdentity, 'job'> & Partial<JobIdentity>
  /** `missing`: what is not configured here: left to a worker that may know it, or dropped. */
  readonly run: (
    job: {
      readonly data: Data | null
      /** Undefined: it names none, or one that is no longer configured. */
      readonly project: ProjectConfig | undefined
      readonly identity: JobIdentity
      readonly queue: QueueName
      readonly addedAt: EpochMs
      readonly tookMs: () => Ms
    },
    deps: JobDeps,
  ) => Promise<JobResult | { readonly missing: string }>
  /** Whatever `run` throws; by default the job's `attempts` decide. */
  readonly afterError?: (data: Data | null, why: string, sinceMs: Ms) => JobResult
}

/** Longer than a change of the configuration is rolled out. */
const leaveToOthersForMs: Ms = 15 * 60_000

/** Catches whatever a job throws once: logs, counts and records it. */
export function createJobHandler<Queue extends QueueName>(
  queue: Queue,
  { identityOf, run, afterError = (_, why) => ({ do: 'retry', why }) }: JobType<JobData<Queue>>,
  deps: JobDeps,
): JobHandler<unknown> {
  const { failures, findProject, context } = deps
  return async (job) => {
    const data = parseJob(queue, job.data)
    const project = data !== null && 'project' in data ? findProject(data.project) : undefined
    const identity: JobIdentity = {
      project: project ?? null,
      key: '',
      stream: null,
      ...identityOf(data),
    }
    const startedAt = performance.now()
    const tookMs = () => Math.round(performance.now() - startedAt)
    try {
      const result = await run(
        { data, project, identity, queue, addedAt: job.timestamp, tookMs },
        deps,
      )
      if ('missing' in result) {
        const isRecent = Date.now() - job.timestamp < leaveToOthersForMs
        if (isRecent && (await context.workersDiffer()))
          return { do: 'delay', afterMs: 1000 + Math.random() * 2000 }
        const why = `the configuration has no such ${result.missing}`
        context.log.info({ event: 'job.dropped', queue, id: job.id, why })
        return { do: 'done' }
      }
      if (data !== null) context.metrics.countJob({ queue, result: result.do })
      return result
    } catch (error) {
      await failures.recordFailure(identity, error, error instanceof QueueUnavailableError)
      const result = afterError(data, errorText(error), Date.now() - job.timestamp)
      context.metrics.countJob({ queue, result: result.do })
      return result
    }
  }
}
