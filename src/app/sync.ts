/** Runs `sync` over streams of one project, under their locks. A worker runs it by time slices. */
import type { StreamName } from '../../schema/stream-specs.ts'
import { updateCallFields } from '../analytics/sql/reference-tables.ts'
import type { Config, ProjectConfig } from '../config/config.ts'
import { readStreamStates } from '../maintenance/sql/project-states.ts'
import { readGaps } from '../maintenance/sql/status-report.ts'
import type { SyncMode, SyncProgress, SyncReport } from '../mirror/mirror.ts'
import { requireConfirmedZone } from '../mirror/sync/rollup-days.ts'
import { runSync } from '../mirror/sync/sync.ts'
import type { BudgetView } from '../service/core/budget.ts'
import type { Ms } from '../values/time.ts'
import { withOpened } from '../values/with-opened.ts'
import { applyColumns, finishColumns, unseenNotice } from './apply-columns.ts'
import { openMirror, refreshFacts, startFactsRefreshes } from './facts.ts'
import type { Warehouse } from './open.ts'
import type { RequestBudgets } from './request-budgets.ts'
import {
  type CommandOptions,
  fatalRunError,
  openBudgets,
  openService,
  type ServiceOptions,
  startBudgetReports,
} from './service.ts'
import { type AcquiredLock, acquireLocks, startLockHeartbeat } from './stream-locks.ts'

export type SyncOptions = CommandOptions & {
  readonly mode: SyncMode
  readonly streams: readonly StreamName[]
  /** Wait for another run of the project to end, instead of failing. */
  readonly wait: boolean
  /** Read the rollups in a time zone that has changed: all days again. */
  readonly changeTimeZone?: boolean
  readonly onProgress: (progress: SyncProgress) => void
  readonly onBudget: (budget: BudgetView) => void
}

/** Throws UserError: locked, denied, an unusable warehouse, a time zone changed unconfirmed. */
export async function syncProject(
  config: Config,
  project: ProjectConfig,
  options: SyncOptions,
): Promise<SyncReport> {
  const { mode, streams, signal, log } = options
  const startedAt = Date.now()
  return withOpened(async (use) => {
    const { warehouse, budgets } = await openBudgets(use, config, options)
    const mirror = openMirror(warehouse, project.projectId)
    if (streams.includes('analytics'))
      await requireConfirmedZone(mirror, project, options.changeTimeZone === true)
    const lock = await acquireLocks(warehouse, project, options)
    const { onProgress, onBudget } = options
    const isNewAddress = !(await hasReadAnything(warehouse, project))
    const { run, requests } = await runSyncUnderLock(lock, warehouse, budgets, project, {
      mode,
      streams,
      signal,
      log,
      isNewAddress,
      onProgress,
      onBudget,
    })
    if (run.fatalFailure !== null) throw fatalRunError(project, run.fatalFailure)
    const gaps = await warehouse.retry.run(() => readGaps(warehouse.db, project.projectId))
    const sum = (of: 'rows' | 'changed') =>
      run.reports.reduce((total, report) => total + report[of], 0)
    return {
      project: project.name,
      mode,
      outcome: run.outcome,
      tookMs: Date.now() - startedAt,
      requests,
      rows: sum('rows'),
      changed: sum('changed'),
      streams: run.reports,
      ...gaps,
      notices: run.notices,
    }
  })
}

async function hasReadAnything(
  warehouse: Warehouse,
  { projectId }: ProjectConfig,
): Promise<boolean> {
  const states = await warehouse.retry.run(() => readStreamStates(warehouse.db))
  return [...(states.get(projectId)?.values() ?? [])].some(({ at }) => at !== null)
}

type SyncRunOptions = ServiceOptions & {
  readonly mode: SyncMode
  readonly streams: readonly StreamName[]
  readonly isSliceOver?: (() => boolean) | undefined
  /** For how long facts are derived at the end; what is left stays pending. */
  readonly maxFactsMs?: Ms | undefined
  readonly onProgress: (progress: SyncProgress) => void
  readonly onBudget?: (budget: BudgetView) => void
}

/** Releases the lock. `isLockLost`: another process took it over, which stopped the run. */
export async function runSyncUnderLock(
  lock: AcquiredLock,
  warehouse: Warehouse,
  budgets: RequestBudgets,
  project: ProjectConfig,
  options: SyncRunOptions,
) {
  const { log, maxFactsMs, onBudget } = options
  const { projectId, schema, history } = project
  return withOpened(async (use) => {
    use({ close: lock.release })
    const service = use(openService(project, budgets.forProject(project), options))
    if (onBudget !== undefined) use(startBudgetReports(service, onBudget))
    let isLockLost = false
    const onLost = () => {
      isLockLost = true
      service.stop()
    }
    use(startLockHeartbeat(lock, onLost))
    const factsOptions = { signal: service.signal, log, maxMs: maxFactsMs }
    const refreshes = use(startFactsRefreshes(warehouse, project, factsOptions))
    await warehouse.retry.run(() =>
      updateCallFields(warehouse.projectDb(projectId), project.analytics),
    )
    const mirror = openMirror(warehouse, projectId, { schema, history, lockToken: lock.token })
    const { streams, isSliceOver, onProgress } = options
    const applying = {
      streams,
      rules: service.columns,
      mirror,
      signal: service.signal,
      isSliceOver,
      onProgress,
      log,
    }
    const applied = await applyColumns(warehouse, project, applying)
    const run = await runSync({
      ...project,
      mode: options.mode,
      streams: new Set(options.streams),
      mirrored: new Set(project.streams),
      lookBackSeconds: Math.ceil(project.lookBackMs / 1000),
      get: service.mirrorGet,
      mirror,
      requestCount: service.client.requestCount,
      now: Date.now,
      signal: service.signal,
      isSliceOver: options.isSliceOver,
      onProgress: options.onProgress,
      log,
    })
    await refreshes.close()
    await refreshFacts(warehouse, project, factsOptions)
    await finishColumns(warehouse, project, mirror)
    const unseen = await unseenNotice(mirror, service.columns, run.reports)
    const notices = [...applied, ...[unseen ?? []].flat(), ...run.notices]
    return { run: { ...run, notices }, requests: service.client.requestCount(), isLockLost }
  })
}
