/** The webhook job of a project: processes its pending deliveries, and enqueues what follows from them. */
import type { DeliveriesResult } from '../src/app/worker/webhook-deliveries.ts'
import { assertNever } from '../src/core/assert-never.ts'
import type { Logger } from '../src/log.ts'
import type { RunningJob } from './backends/backend.ts'
import { dropJob, type JobDeps } from './job-deps.ts'
import { jobSubject } from './job-errors.ts'
import type { JobResult } from './job-result.ts'
import { parseWebhookJob, type WebhookJob, webhookQueue } from './queues.ts'
import { incrementalSyncJobs, syncJobsOfSchedule } from './schedule-plan.ts'

export async function runWebhookJob(job: RunningJob<unknown>, deps: JobDeps): Promise<JobResult> {
  const webhookJob = parseWebhookJob(job.data)
  const project = webhookJob === null ? undefined : deps.findProject(webhookJob.project)
  if (webhookJob === null || project === undefined) {
    return dropJob(webhookQueue, job, deps, 'project')
  }
  const startedAt = performance.now()
  const enqueueFollowUps = async ({ lists }: { lists: boolean }) => {
    const listJobs = lists ? syncJobsOfSchedule('incremental', project) : []
    await deps.enqueueSyncJobs([
      ...listJobs,
      ...incrementalSyncJobs('passes', project, await deps.workerContext.markSyncedAndListPending(project)),
    ])
  }
  const end = await deps.workerContext.processDeliveries(project, { signal: deps.stopping, enqueueFollowUps })
  const subject = jobSubject('webhooks', deps, webhookJob.project)
  if (end.kind === 'done') await deps.failures.recordSuccess(subject)
  const isNewFailure = end.kind === 'failed' && (await deps.failures.recordFailure(subject, end.why, true))
  logWebhookJobEnd(deps.log, webhookJob, end, Math.round(performance.now() - startedAt), isNewFailure)
  const result = jobResultOf(end)
  deps.metrics.countJob({ queue: webhookQueue, verdict: result.do })
  return result
}

/** What could not be done becomes pending again later, and maintenance finds it. */
function jobResultOf(end: DeliveriesResult): JobResult {
  switch (end.kind) {
    case 'done':
    case 'paused':
    case 'failed':
      return { do: 'done' }
    case 'interrupted':
      return { do: 'again', afterMs: 1 }
    default:
      return assertNever(end)
  }
}

function logWebhookJobEnd(
  log: Logger,
  { project }: WebhookJob,
  end: DeliveriesResult,
  tookMs: number,
  isNewFailure: boolean,
): void {
  const fields = { project, took_ms: tookMs }
  if (end.kind === 'failed') log[isNewFailure ? 'warn' : 'debug']({ event: 'webhooks.failed', ...fields, why: end.why })
  else if (end.kind !== 'done') log.debug({ event: `webhooks.${end.kind}`, ...fields })
  else if (end.deliveries > 0) {
    log.info({ event: 'webhooks.processed', ...fields, deliveries: end.deliveries, lists: end.lists })
  }
}
