/** From a webhook's delivery to the job that looks after it; and which deliveries no job has been announced for. */
import type { WorkerContext } from '../src/app/worker/worker-context.ts'
import type { ProjectConfig } from '../src/config/load.ts'
import type { Metrics } from '../src/http/metrics.ts'
import type { WebhookReceiver } from '../src/http/webhooks.ts'
import type { Logger } from '../src/log.ts'
import type { WebhookJob } from './queues.ts'

export type WebhookReceiverDeps = {
  readonly projects: () => readonly ProjectConfig[]
  readonly workerContext: Pick<WorkerContext, 'storeDelivery'>
  readonly enqueueWebhookJobs: (all: readonly WebhookJob[]) => Promise<void>
  readonly metrics: Pick<Metrics, 'delivered'>
  readonly log: Logger
}

export function createWebhookReceiver({ projects, workerContext, enqueueWebhookJobs, metrics, log }: WebhookReceiverDeps): WebhookReceiver {
  const findProject = (named: string) =>
    projects().find(({ name }) => name === named) ?? projects().find(({ projectId }) => projectId === named)
  return {
    findProject: (named) => {
      const project = findProject(named)
      return project === undefined ? undefined : { name: project.name, secrets: project.webhookSecrets }
    },
    storeDelivery: async (name, body) => {
      const { id, became } = await workerContext.storeDelivery(findProject(name)?.projectId ?? '', body)
      if (became !== 'stored') return became
      // Not waited for: a queue that is away must not hold up the answer, and the sweep finds what is not announced.
      enqueueWebhookJobs([{ project: name, delivery: id }]).catch((error: unknown) =>
        log.warn({ event: 'webhook.unannounced', project: name, why: String(error) }),
      )
      return 'accepted'
    },
    onDelivery: metrics.countDelivery,
    log,
  }
}

/** `due`: by the projects' ids. Those of projects that the configuration does not have wait until it has them again. */
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
