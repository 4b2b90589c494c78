/** Runs `sync`: one sync run over one project, under its lock and on its budget. */
import type { Config, ProjectConfig } from '../config/config.ts'
import type { BudgetView, SyncProgress, SyncReport } from '../core/command-reports.ts'
import type { SyncMode } from '../core/mirror.ts'
import type { StreamName } from '../core/stream-specs.ts'
import type { Logger } from '../log.ts'
import { databasesOf } from '../warehouse/databases.ts'
import { acquireLocks } from './acquire-locks.ts'
import type { RequestBudgets } from './request-budgets.ts'
import { fatalRunError, reportBudget } from './service.ts'
import { runSyncUnderLock } from './sync-run.ts'
import { withRequestBudgets, withWarehouseRetries } from './with-resources.ts'

export type SyncOptions = {
  readonly mode: SyncMode
  readonly streams: readonly StreamName[]
  /** Wait for another run of the project to end, instead of failing. */
  readonly wait: boolean
  /** Stops after the page in hand. */
  readonly signal: AbortSignal
  readonly onProgress: (progress: SyncProgress) => void
  readonly onBudget: (budget: BudgetView) => void
  /** Reports that the warehouse is away, or back. */
  readonly notify?: (line: string) => void
  readonly log: Logger
}

/** Throws UserError: locked, denied, a warehouse that cannot be used. */
export async function syncProject(config: Config, project: ProjectConfig, options: SyncOptions): Promise<SyncReport> {
  const { mode, streams, signal, log } = options
  const startedAt = Date.now()
  return withWarehouseRetries(databasesOf(config, project), options, async (warehouse, warehouseRetry) => {
    const syncOnBudget = async (budgets: RequestBudgets) =>
      runSyncUnderLock(await acquireLocks(warehouse, project, options), warehouse, budgets, project, {
        mode,
        streams,
        signal,
        onProgress: (progress, service) => {
          options.onProgress(progress)
          reportBudget(service, options.onBudget)
        },
        log,
      })
    const { run, requests } = await withRequestBudgets(config, warehouse, log, syncOnBudget, warehouseRetry)
    if (run.fatalFailure !== null) throw fatalRunError(project, run.fatalFailure)
    const gaps = await warehouse.listGaps(project.projectId)
    const sum = (of: 'rows' | 'changed') => run.reports.reduce((total, report) => total + report[of], 0)
    return {
      project: project.name,
      mode,
      outcome: run.outcome,
      tookMs: Date.now() - startedAt,
      requests,
      rows: sum('rows'),
      changed: sum('changed'),
      streams: run.reports,
      gaps,
      notices: run.notices,
    }
  })
}
