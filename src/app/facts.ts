/**
 * Keeps what analysts see up to date: columns, and facts during a long sync run and after all work.
 */
import type { FactsOptions } from '../analytics/analytics.ts'
import { createProjectFacts } from '../analytics/sql/project-facts.ts'
import { showDiscoveredColumns } from '../analytics/sql/views.ts'
import type { Config, ProjectConfig } from '../config/config.ts'
import type { Logger } from '../log.ts'
import type { MirrorOptions } from '../mirror/mirror.ts'
import { createMirror } from '../mirror/sql/mirror.ts'
import type { ProjectId, ProjectName } from '../values/project.ts'
import type { Ms } from '../values/time.ts'
import { createWarehouseRetry, type WarehouseRetryOptions } from '../warehouse/retry.ts'
import { type Warehouse, withWarehouse } from './open.ts'

type FactsRefreshOptions = {
  /** Ends after the transaction in hand; what is left stays pending. */
  readonly signal: AbortSignal
  /** The same after this time; 0: all of it stays pending. */
  readonly maxMs?: Ms | undefined
  readonly log: Logger
}

export async function refreshFacts(
  warehouse: Warehouse,
  project: ProjectConfig,
  { signal, maxMs, log }: FactsRefreshOptions,
): Promise<void> {
  if (maxMs === 0) return
  const startedAt = performance.now()
  const limited =
    maxMs === undefined ? signal : AbortSignal.any([signal, AbortSignal.timeout(maxMs)])
  const { conversations } = await createProjectFacts(
    warehouse.projectDb(project.projectId),
    project,
  ).refresh({
    signal: limited,
  })
  if (conversations === 0) return
  const took_ms = Math.round(performance.now() - startedAt)
  log.debug({ event: 'facts.refreshed', project: project.name, conversations, took_ms })
}

/** A first sync may take hours; dashboards show its rows a minute later. */
const refreshEveryMs: Ms = 60_000

/** Refreshes the facts each minute until it is closed. */
export function startFactsRefreshes(
  warehouse: Warehouse,
  project: ProjectConfig,
  options: FactsRefreshOptions,
) {
  let current: Promise<void> | null = null
  const timer = setInterval(() => {
    // A failure is one of the database, which the work itself meets, too.
    current ??= refreshFacts(warehouse, project, options)
      .catch(() => {})
      .finally(() => {
        current = null
      })
  }, refreshEveryMs)
  const close = async () => {
    clearInterval(timer)
    await current
  }
  return { close }
}

/** `migrate --rebuild-analytics`, one project. */
export type FactsRebuildReport = {
  readonly project: ProjectName
  readonly conversations: number
  readonly tookMs: Ms
  /** `interrupted`: the next sync run continues. */
  readonly outcome: 'complete' | 'interrupted'
}

export function rebuildFacts(
  config: Config,
  project: ProjectConfig,
  options: FactsOptions & Pick<WarehouseRetryOptions, 'notify'>,
): Promise<FactsRebuildReport> {
  const startedAt = performance.now()
  const rebuild = async (warehouse: Warehouse): Promise<FactsRebuildReport> => {
    const { conversations, isComplete } = await createProjectFacts(
      warehouse.projectDb(project.projectId),
      project,
    ).rebuild(options)
    const tookMs = Math.round(performance.now() - startedAt)
    return {
      project: project.name,
      conversations,
      tookMs,
      outcome: isComplete ? 'complete' : 'interrupted',
    }
  }
  return withWarehouse(config, rebuild, { retry: createWarehouseRetry(options) })
}

/** The mirror of one project, whose discovered columns the views for analysts show. */
export function openMirror(
  { projectDb }: Warehouse,
  project: ProjectId,
  options: MirrorOptions = {},
) {
  return createMirror(projectDb(project), options, showDiscoveredColumns)
}
