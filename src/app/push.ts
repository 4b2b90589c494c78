/** `push` with real parts: sends one project's queued write-backs until none can be sent. */
import type { Config, ProjectConfig } from '../config/load.ts'
import type { BudgetView, PushProgress, PushReport } from '../core/report.ts'
import { projectCommandHint } from '../core/command-hint.ts'
import type { Logger } from '../log.ts'
import { sendQueued } from '../writeback/send/send-queued.ts'
import type { RequestBudgets } from './request-budgets.ts'
import { withRequestCounting } from './request-counting.ts'
import { missingScopeNotices, circuitNotices, withoutProjectNotices } from './writeback-notices.ts'
import { withRequestBudgets, withWarehouse } from './with-resources.ts'
import { countUnsettled, withRetryingOutbox } from './outbox.ts'
import { type Service, stoppedRunError, reportBudget, withService } from './service.ts'
import { maxConcurrentLanes, readOnlySetting, rejectReadOnly, writebackDeps } from './writeback-deps.ts'

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
  if (project.readOnly) await revokeSending(config, project)
  rejectReadOnly(project)
  const startedAt = Date.now()
  return withRetryingOutbox(config, project, options, (admin, warehouse, warehouseRetry) => {
    const work = async (service: Service): Promise<PushReport> => {
      const total = await countUnsettled(admin)
      const result = await sendQueued(writebackDeps(warehouse, project, service, log, warehouseRetry), {
        maxConcurrentLanes,
        despiteFailures,
        onProgress: ({ settled, working }) => {
          options.onProgress({ settled, working, left: Math.max(0, total - settled) })
          reportBudget(service, options.onBudget)
        },
      })
      if (result.stoppedBy !== null) throw stoppedRunError(project, result.stoppedBy, service.client.hasServiceAnswered())
      const heldLanes = (await admin.listBlockedLanes()).length
      const notices = [
        ...circuitNotices(result.circuits, projectCommandHint(config.projects, project.name)),
        ...missingScopeNotices(result.denied),
        ...withoutProjectNotices(await warehouse.workerState.countWithoutProject()),
      ]
      return {
        project: project.name,
        settled: result.settled,
        queue: await admin.countByStatus({}),
        tookMs: Date.now() - startedAt,
        requests: service.client.requests(),
        outcome: signal.aborted ? 'interrupted' : notices.length > 0 ? 'held' : 'done',
        notices,
        heldLanes,
      }
    }
    const send = (budgets: RequestBudgets) =>
      withService(project, budgets.forProject(project), { signal, log }, (service) =>
        withRequestCounting(warehouse, project, 'push', service, () => work(service)),
      )
    return withRequestBudgets(config, warehouse, log, send, warehouseRetry)
  })
}

/** Nothing that has left goes again. */
function revokeSending(config: Config, { projectId }: ProjectConfig): Promise<void> {
  return withWarehouse(config, (warehouse) => warehouse.outboxAdmin(projectId).revokeSending(readOnlySetting))
}
