/** The webhook job of a project: processes its pending deliveries, and enqueues what follows from them. */
import type { DeliveriesResult } from '../src/app/worker/webhook-deliveries.ts'
import type { JobResult } from './job-result.ts'
import { type JobDeps, type JobRun, type JobType, recordJobEnd } from './job-type.ts'
import { parseWebhookJob, type WebhookJob } from './queues.ts'
import { incrementalSyncJobs, syncJobsOfSchedule } from './schedule-plan.ts'

export const webhookJobs: JobType<WebhookJob> = {
  parse: parseWebhookJob,
  identityOf: () => ({ job: 'webhooks' }),
  run: runWebhookJob,
}

/** What could not be done becomes pending again later, and maintenance finds it. */
async function runWebhookJob({ data, project, identity }: JobRun<WebhookJob>, deps: JobDeps) {
  if (data === null || project === undefined) return { missing: 'project' }
  const { workerContext, enqueueSyncJobs, stopping } = deps
  const startedAt = performance.now()
  const enqueueFollowUps = async ({ lists }: { lists: boolean }) => {
    const listJobs = lists ? syncJobsOfSchedule('incremental', project) : []
    const pendingChildren = await workerContext.markSyncedAndListPending(project)
    await enqueueSyncJobs([...listJobs, ...incrementalSyncJobs('sync', project, pendingChildren)])
  }
  const end = await workerContext.processDeliveries(project, { signal: stopping, enqueueFollowUps })
  const isNewFailure = await recordJobEnd(deps, identity, end)
  logEnd(deps, end, { project: data.project, took_ms: Math.round(performance.now() - startedAt) }, isNewFailure)
  const result: JobResult = end.kind === 'interrupted' ? { do: 'delay', afterMs: 1 } : { do: 'done' }
  return result
}

function logEnd({ log }: JobDeps, end: DeliveriesResult, fields: object, isNewFailure: boolean): void {
  if (end.kind === 'failed') log[isNewFailure ? 'warn' : 'debug']({ event: 'webhooks.failed', ...fields, why: end.why })
  else if (end.kind !== 'done') log.debug({ event: `webhooks.${end.kind}`, ...fields })
  else if (end.deliveries > 0)
    log.info({ event: 'webhooks.processed', ...fields, deliveries: end.deliveries, lists: end.lists })
}
