/** Catches whatever a job throws once: logs, counts and records it, and retries the job as its queue prescribes. */
import type { JobKind, JobSubject } from '../src/core/job-failure.ts'
import type { JobHandler } from './backends/backend.ts'
import type { JobDeps } from './job-deps.ts'
import {
  parseLaneJob,
  parseSchedulerJob,
  parseSyncJob,
  parseWebhookJob,
  type QueueName,
  webhookQueue,
  writebackQueue,
} from './queues.ts'

type AnyQueueName = QueueName | typeof webhookQueue | typeof writebackQueue

/** The job's `attempts` decide whether it runs again. */
export function catchJobErrors(
  queue: AnyQueueName,
  handle: JobHandler<unknown>,
  deps: Pick<JobDeps, 'failures' | 'metrics' | 'findProject' | 'isQueueConnectionError'>,
) {
  const handler: JobHandler<unknown> = async (job, signal) => {
    try {
      return await handle(job, signal)
    } catch (error) {
      await deps.failures.recordFailure(subjectOfJob(queue, job.data, deps), error, deps.isQueueConnectionError(error))
      deps.metrics.countJob({ queue, verdict: 'retry' })
      return { do: 'retry', why: error instanceof Error ? error.message : String(error) }
    }
  }
  return handler
}

type ProjectLookup = Pick<JobDeps, 'findProject'>

/** The subject of a job, as far as its data names it. */
function subjectOfJob(queue: AnyQueueName, data: unknown, find: ProjectLookup): JobSubject {
  switch (queue) {
    case 'passes':
    case 'backfill':
      return syncJobSubject(parseSyncJob(data), find)
    case 'clock':
      return schedulerJobSubject(parseSchedulerJob(data), find)
    case webhookQueue:
      return jobSubject('webhooks', find, parseWebhookJob(data)?.project)
    case writebackQueue:
      return jobSubject('writebacks', find, parseLaneJob(data)?.project, parseLaneJob(data)?.lane)
  }
}

export function syncJobSubject(job: ReturnType<typeof parseSyncJob>, find: ProjectLookup): JobSubject {
  const subject = jobSubject('pass', find, job?.project, job === null ? '' : `${job.stream}/${job.mode}`)
  return { ...subject, stream: job?.stream ?? null }
}

export function schedulerJobSubject(job: ReturnType<typeof parseSchedulerJob>, find: ProjectLookup): JobSubject {
  if (job === null || job.round === 'housekeeping') return jobSubject('housekeeping', find)
  return jobSubject('schedule', find, job.project, job.round)
}

export function jobSubject(
  job: JobKind,
  { findProject }: ProjectLookup,
  projectName?: string,
  subject = '',
): JobSubject {
  return {
    job,
    project: (projectName === undefined ? undefined : findProject(projectName)) ?? null,
    subject,
    stream: null,
  }
}
