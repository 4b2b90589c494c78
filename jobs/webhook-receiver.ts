/** From a webhook delivery to the job that processes it; and the pending deliveries that have no job. */
import { storeDelivery } from '../src/app/worker/webhook-deliveries.ts'
import type { WorkerContext } from '../src/app/worker/worker-context.ts'
import type { ProjectConfig } from '../src/config/config.ts'
import type { Metrics } from '../src/http/metrics.ts'
import type { WebhookReceiver } from '../src/http/webhooks.ts'
import type { Logger } from '../src/log.ts'
import type { JobEnqueuer } from './enqueue.ts'
import type { WebhookJob } from './queues.ts'

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
  pending: readonly { readonly project: string; readonly id: string }[],
): WebhookJob[] {
  const names = new Map(projects.map(({ projectId, name }) => [projectId, name]))
  return pending.flatMap(({ project, id }) => {
    const name = names.get(project)
    return name === undefined ? [] : [{ project: name, delivery: id }]
  })
}
