/** From a webhook's delivery to the job that looks after it; and which deliveries no job has been announced for. */
import type { Workplace } from '../src/compose/worker/workplace.ts'
import type { ProjectConfig } from '../src/config.ts'
import type { Metrics } from '../src/http/metrics.ts'
import type { Receiver } from '../src/http/webhooks.ts'
import type { Logger } from '../src/log.ts'
import type { Hint } from './queues.ts'

export type ReceiverDeps = {
  readonly projects: () => readonly ProjectConfig[]
  readonly workplace: Pick<Workplace, 'storeDelivery'>
  readonly announceHints: (all: readonly Hint[]) => Promise<void>
  readonly metrics: Pick<Metrics, 'delivered'>
  readonly log: Logger
}

export function receiverOf({ projects, workplace, announceHints, metrics, log }: ReceiverDeps): Receiver {
  const find = (named: string) =>
    projects().find(({ name }) => name === named) ?? projects().find(({ projectId }) => projectId === named)
  return {
    project: (named) => {
      const project = find(named)
      return project === undefined ? undefined : { name: project.name, secrets: project.webhookSecrets }
    },
    receive: async (name, body) => {
      const { id, became } = await workplace.storeDelivery(find(name)?.projectId ?? '', body)
      if (became !== 'stored') return became
      // Not waited for: a queue that is away must not hold up the answer, and the sweep finds what is not announced.
      announceHints([{ project: name, delivery: id }]).catch((error: unknown) =>
        log.warn({ event: 'webhook.unannounced', project: name, why: String(error) }),
      )
      return 'accepted'
    },
    onDelivery: metrics.delivered,
    log,
  }
}

/** `due`: by the projects' ids. Those of projects that the configuration does not have wait until it has them again. */
export function unheard(
  projects: readonly Pick<ProjectConfig, 'name' | 'projectId'>[],
  due: readonly { readonly project: string; readonly id: string }[],
): Hint[] {
  const names = new Map(projects.map(({ projectId, name }) => [projectId, name]))
  return due.flatMap(({ project, id }) => {
    const name = names.get(project)
    return name === undefined ? [] : [{ project: name, delivery: id }]
  })
}
