/** `sync` with real parts: one pass over one project, under its lock and on its budget. */
import type { Config, ProjectConfig } from '../config.ts'
import type { RunMode } from '../core/mirror.ts'
import type { BudgetView, SyncProgress, SyncReport } from '../core/report.ts'
import type { StreamName } from '../core/row.ts'
import type { Logger } from '../log.ts'
import type { Budgets } from './budgets.ts'
import { hold } from './hold.ts'
import { withBudgets, withPatience } from './opened.ts'
import { runUnder } from './run.ts'
import { stoppedError, tellBudget } from './service.ts'

export type SyncOptions = {
  readonly mode: RunMode
  readonly streams: readonly StreamName[]
  /** Wait for another run of the project to end, instead of refusing. */
  readonly wait: boolean
  /** Stops after the page in hand. */
  readonly signal: AbortSignal
  readonly onProgress: (progress: SyncProgress) => void
  readonly onBudget: (budget: BudgetView) => void
  /** Tells a person that the warehouse is away, or back. */
  readonly tell?: (line: string) => void
  readonly log: Logger
}

/** Throws UserError: locked, denied, a warehouse that cannot be used. */
export async function syncProject(config: Config, project: ProjectConfig, options: SyncOptions): Promise<SyncReport> {
  const { mode, streams, signal, log } = options
  const startedAt = Date.now()
  return withPatience(config, options, async (warehouse, patience) => {
    const run = async (budgets: Budgets) =>
      runUnder(await hold(warehouse, project, options), warehouse, budgets, project, {
        mode,
        streams,
        signal,
        onProgress: (progress, service) => {
          options.onProgress(progress)
          tellBudget(service, options.onBudget)
        },
        log,
      })
    const { synced, requests } = await withBudgets(config, warehouse, log, run, patience)
    if (synced.stopped !== null) throw stoppedError(project, synced.stopped)
    const gaps = await warehouse.gaps(project.projectId)
    const sum = (of: 'rows' | 'changed') => synced.reports.reduce((total, report) => total + report[of], 0)
    return {
      project: project.name,
      mode,
      outcome: synced.outcome,
      tookMs: Date.now() - startedAt,
      requests,
      rows: sum('rows'),
      changed: sum('changed'),
      streams: synced.reports,
      gaps,
      notices: synced.notices,
    }
  })
}
