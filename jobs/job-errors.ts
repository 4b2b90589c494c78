/** Whatever a job throws is caught once: told, counted and noted, and then tried again as its queue would have it. */
import type { JobKind, JobSubject } from '../src/core/job-failure.ts'
import type { JobHandler } from './backends/backend.ts'
import type { JobDeps } from './job-deps.ts'
import { webhookQueue, writebackQueue, type QueueName, parseWebhookJob, parseLaneJob, parseSyncJob, parseSchedulerJob } from './queues.ts'

type AnyQueueName = QueueName | typeof webhookQueue | typeof writebackQueue

/** `attempts` of the job decide whether there is another one. */
export function catchJobErrors(
  queue: AnyQueueName,
  handle: JobHandler<unknown>,
  deps: Pick<JobDeps, 'failures' | 'metrics' | 'project' | 'isQueueAway'>,
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

/** The same for what no queue announces: it comes again by itself. */
export async function runBackgroundTask(
  job: JobKind,
  work: () => Promise<void>,
  { failures, isQueueConnectionError: isQueueAway }: Pick<JobDeps, 'failures' | 'isQueueAway'>,
): Promise<void> {
  const about: JobSubject = { job, project: null, subject: '', stream: null }
  try {
    await work()
  } catch (error) {
    await failures.recordFailure(about, error, isQueueAway(error))
    return
  }
  await failures.recordSuccess(about)
}

type ProjectLookup = Pick<JobDeps, 'project'>

/** What a job is about, as far as it says. */
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

export function jobSubject(job: JobKind, { findProject: find }: ProjectLookup, projectName?: string, subject = ''): JobSubject {
  return { job, project: (projectName === undefined ? undefined : find(projectName)) ?? null, subject, stream: null }
}
