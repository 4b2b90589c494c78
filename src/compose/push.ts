/** `push` with real parts: sends one project's queued write-backs until none can be sent. */
import type { Config, ProjectConfig } from '../config.ts'
import type { BudgetView, PushProgress, PushReport } from '../core/report.ts'
import { typedIn } from '../core/typed.ts'
import type { Logger } from '../log.ts'
import { push } from '../writeback/push.ts'
import type { Budgets } from './budgets.ts'
import { counted } from './counted.ts'
import { deniedNotices, heldNotices, namelessNotices } from './notices.ts'
import { withBudgets, withWarehouse } from './opened.ts'
import { unsettled, withPatientQueue } from './queue.ts'
import { type Service, stoppedError, tellBudget, withService } from './service.ts'
import { lanesAtOnce, readOnlySetting, refuseReadOnly, writebackDeps } from './writebacks.ts'

export type PushOptions = {
  readonly signal: AbortSignal
  readonly onProgress: (progress: PushProgress) => void
  readonly onBudget: (budget: BudgetView) => void
  /** Tells a person that the warehouse is away, or back. */
  readonly tell?: (line: string) => void
  /** Goes on although the last write-backs went wrong. */
  readonly despiteFailures: boolean
  readonly log: Logger
}

/** Throws UserError: denied, nobody answers, read-only. */
export async function pushProject(config: Config, project: ProjectConfig, options: PushOptions): Promise<PushReport> {
  const { signal, log, despiteFailures } = options
  if (project.readOnly) await recall(config, project)
  refuseReadOnly(project)
  const startedAt = Date.now()
  return withPatientQueue(config, project, options, (desk, warehouse, patience) => {
    const work = async (service: Service): Promise<PushReport> => {
      const all = await unsettled(desk)
      const pushed = await push(writebackDeps(warehouse, project, service, log, patience), {
        lanesAtOnce,
        despiteFailures,
        onProgress: ({ settled, working }) => {
          options.onProgress({ settled, working, left: Math.max(0, all - settled) })
          tellBudget(service, options.onBudget)
        },
      })
      if (pushed.stopped !== null) throw stoppedError(project, pushed.stopped, service.client.heard())
      const heldLanes = (await desk.heldLanes()).length
      const notices = [
        ...heldNotices(pushed.held, typedIn(config.projects, project.name)),
        ...deniedNotices(pushed.denied),
        ...namelessNotices(await warehouse.fleet.countNameless()),
      ]
      return {
        project: project.name,
        settled: pushed.settled,
        queue: await desk.summary({}),
        tookMs: Date.now() - startedAt,
        requests: service.client.requests(),
        outcome: signal.aborted ? 'interrupted' : notices.length > 0 ? 'held' : 'done',
        notices,
        heldLanes,
      }
    }
    const send = (budgets: Budgets) =>
      withService(project, budgets.of(project), { signal, log }, (service) =>
        counted(warehouse, project, 'push', service, () => work(service)),
      )
    return withBudgets(config, warehouse, log, send, patience)
  })
}

/** Nothing that has left goes again. */
function recall(config: Config, { projectId }: ProjectConfig): Promise<void> {
  return withWarehouse(config, (warehouse) => warehouse.queueDesk(projectId).recall(readOnlySetting))
}
