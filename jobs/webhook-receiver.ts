/** From a webhook delivery to the job that processes it; and the pending deliveries that have no job. */

import type { ProjectConfig } from '../src/config/config.ts'
import type { Metrics } from '../src/http/metrics.ts'
import type { WebhookReceiver } from '../src/http/webhooks.ts'
import type { Logger } from '../src/log.ts'
import type { ProjectId } from '../src/values/project.ts'
import { type DeliveriesResult, storeDelivery } from '../src/worker/webhook-deliveries.ts'
import type { WorkerContext } from '../src/worker/worker-context.ts'
import type { JobResult } from './backends/backend.ts'
import type { JobEnqueuer } from './enqueue.ts'
import { type JobDeps, type JobRun, type JobType, recordJobEnd } from './job-type.ts'
import { parseWebhookJob, type WebhookJob } from './queues.ts'
import { incrementalSyncJobs, syncJobsOfSchedule } from './schedule-plan.ts'

export function createWebhookReceiver(
  projects: () => readonly ProjectConfig[],
  { workerContext, enqueuer, metrics }: { workerContext: WorkerContext; enqueuer: JobEnqueuer; metrics: Metrics },
  log: Logger,
): WebhookReceiver {
  const { warehouse } = workerContext
  const findProject = (named: string) =>
    projects().find(({ name }) => name === named) ?? projects().find(({ projectId }) => projectId === named)
  return {
    findProject: (named) => {
      const project = findProject(named)
      return project === undefined ? undefined : { name: project.name, secrets: project.webhookSecrets }
    },
    storeDelivery: async (name, body) => {
      const { id, result } = await storeDelivery(warehouse, findProject(name)?.projectId ?? '', body)
      if (result !== 'stored') return result
      // Not awaited: a disconnected queue must not delay the response, and maintenance enqueues what was missed.
      enqueuer
        .enqueueWebhookJobs([{ project: name, delivery: id }])
        .catch((error: unknown) => log.warn({ event: 'webhook.enqueue_failed', project: name, why: String(error) }))
      return 'accepted'
    },
    onDelivery: metrics.countDelivery,
    log,
  }
}

/** `pending`: by project id. Deliveries of projects that are not configured wait until they are again. */
export function pendingWebhookJobs(
  projects: readonly Pick<ProjectConfig, 'name' | 'projectId'>[],
  pending: readonly { readonly project: ProjectId; readonly id: string }[],
): WebhookJob[] {
  const names = new Map(projects.map(({ projectId, name }) => [projectId, name]))
  return pending.flatMap(({ project, id }) => {
    const name = names.get(project)
    return name === undefined ? [] : [{ project: name, delivery: id }]
  })
}

/** The webhook job of a project: processes its pending deliveries, and enqueues what follows from them. */
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
