/** Keeps the facts for analysts up to date with the mirror: during a long sync run, and at the end of all work. */

import type { FactsRebuildReport } from '../analytics/core/reports.ts'
import type { FactsOptions } from '../analytics/sql/project-facts.ts'
import type { Config, ProjectConfig } from '../config/config.ts'
import type { Logger } from '../log.ts'
import type { Ms } from '../values/time.ts'
import type { Warehouse } from './open.ts'
import type { WarehouseRetryOptions } from './warehouse-retry.ts'
import { withWarehouseRetries } from './with-resources.ts'

type FactsRefreshOptions = {
  /** Ends after the transaction in hand; what is left stays pending. */
  readonly signal: AbortSignal
  /** The same after this time. */
  readonly maxMs?: Ms
  readonly log: Logger
}

/** Derives what is pending. */
export async function refreshFacts(
  warehouse: Warehouse,
  project: ProjectConfig,
  { signal, maxMs, log }: FactsRefreshOptions,
): Promise<void> {
  const startedAt = performance.now()
  const limited = maxMs === undefined ? signal : AbortSignal.any([signal, AbortSignal.timeout(maxMs)])
  const { conversations } = await warehouse.facts(project.projectId, project).refresh({ signal: limited })
  if (conversations === 0) return
  const took_ms = Math.round(performance.now() - startedAt)
  log.debug({ event: 'facts.refreshed', project: project.name, conversations, took_ms })
}

/** A first sync may take hours; dashboards show its rows a minute later. */
const refreshEveryMs: Ms = 60_000

/** Runs the work with a refresh each minute, and one at its end. */
export async function withFreshFacts<T>(
  warehouse: Warehouse,
  project: ProjectConfig,
  options: FactsRefreshOptions,
  work: () => Promise<T>,
): Promise<T> {
  const stopRefreshing = refreshInBackground(() => refreshFacts(warehouse, project, options))
  const result = await work().finally(stopRefreshing)
  await refreshFacts(warehouse, project, options)
  return result
}

/** A failure is one of the database, which the work itself meets, too. */
function refreshInBackground(refresh: () => Promise<void>): () => Promise<void> {
  let current: Promise<void> | null = null
  const timer = setInterval(() => {
    current ??= refresh()
      .catch(() => {})
      .finally(() => {
        current = null
      })
  }, refreshEveryMs)
  return async () => {
    clearInterval(timer)
    await current
  }
}

/** Derives all facts of a project anew. */
export function rebuildFacts(
  config: Config,
  project: ProjectConfig,
  options: FactsOptions & Pick<WarehouseRetryOptions, 'notify'>,
): Promise<FactsRebuildReport> {
  const startedAt = performance.now()
  return withWarehouseRetries(config, options, async (warehouse) => {
    const { conversations, isComplete } = await warehouse.facts(project.projectId, project).rebuild(options)
    const tookMs = Math.round(performance.now() - startedAt)
    return { project: project.name, conversations, tookMs, outcome: isComplete ? 'complete' : 'interrupted' }
  })
}
