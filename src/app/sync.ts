/** Runs `sync`: one sync run over one project, under its lock and on its budget. */
import type { Config, ProjectConfig } from '../config/config.ts'
import type { BudgetView, SyncProgress, SyncReport } from '../core/command-reports.ts'
import type { SyncMode } from '../core/mirror.ts'
import type { StreamName } from '../core/stream-specs.ts'
import { UserError } from '../core/user-error.ts'
import type { Logger } from '../log.ts'
import { confirmZone, rememberConfirmedZone, unconfirmedZoneReason } from '../sync/rollup-time-zone.ts'
import { databasesOf } from '../warehouse/databases.ts'
import type { Warehouse } from '../warehouse/open.ts'
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
  /** Read the rollups in a time zone that has changed: all days again. */
  readonly changeTimeZone?: boolean
  /** Stops after the page in hand. */
  readonly signal: AbortSignal
  readonly onProgress: (progress: SyncProgress) => void
  readonly onBudget: (budget: BudgetView) => void
  /** Reports that the warehouse is away, or back. */
  readonly notify?: (line: string) => void
  readonly log: Logger
}

/** Throws UserError: locked, denied, a warehouse that cannot be used, a time zone that changed unconfirmed. */
export async function syncProject(config: Config, project: ProjectConfig, options: SyncOptions): Promise<SyncReport> {
  const { mode, streams, signal, log } = options
  const startedAt = Date.now()
  return withWarehouseRetries(databasesOf(config, project), options, async (warehouse, warehouseRetry) => {
    if (streams.includes('analytics')) await confirmTimeZone(warehouse, project, options.changeTimeZone === true)
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

async function confirmTimeZone(warehouse: Warehouse, project: ProjectConfig, isConfirmed: boolean): Promise<void> {
  const mirror = warehouse.mirror(project.projectId)
  const why = await unconfirmedZoneReason(mirror, project.timeZone)
  if (why === null) return
  if (isConfirmed) return rememberConfirmedZone(mirror, project.timeZone)
  throw new UserError({ what: `cannot sync the rollups of ${project.name}`, why, next: confirmZone, exitCode: 2 })
}
