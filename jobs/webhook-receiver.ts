/** From a webhook delivery to the job that processes it; and the pending deliveries that have no job. */
import type { ProjectConfig } from '../src/config/config.ts'
import type { WebhookReceiver } from '../src/http/webhooks.ts'
import type { ProjectId } from '../src/values/project.ts'
import { storeDelivery } from '../src/worker/webhook-deliveries.ts'
import type { WorkerContext } from '../src/worker/worker-context.ts'
import type { JobData, JobQueues } from './queues.ts'

export function createWebhookReceiver(
  projects: () => readonly ProjectConfig[],
  { warehouse, metrics, log }: WorkerContext,
  enqueue: JobQueues['enqueue'],
): WebhookReceiver {
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
      enqueue('webhooks', [{ project: name, delivery: id }]).catch((error: unknown) =>
        log.warn({ event: 'webhook.enqueue_failed', project: name, why: String(error) }),
      )
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
): JobData<'webhooks'>[] {
  const names = new Map(projects.map(({ projectId, name }) => [projectId, name]))
  return pending.flatMap(({ project, id }) => {
    const name = names.get(project)
    return name === undefined ? [] : [{ project: name, delivery: id }]
  })
}
