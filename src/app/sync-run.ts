/** A sync run over some streams of a project, under their lock: `sync` makes one, a worker one for each time slice. */

import type { StreamName } from '../../schema/stream-specs.ts'
import type { ProjectConfig } from '../config/config.ts'
import type { SyncMode } from '../mirror/core/mirror.ts'
import type { SyncProgress } from '../mirror/core/reports.ts'
import { heartbeatTimeoutMs, type LockResult } from '../mirror/sql/stream-locks.ts'
import { runSync, type SyncResult } from '../mirror/sync/sync.ts'
import type { Ms } from '../values/time.ts'
import { withFreshFacts } from './facts.ts'
import type { Warehouse } from './open.ts'
import type { RequestBudgets } from './request-budgets.ts'
import { type Service, type ServiceOptions, withService } from './service.ts'

export type AcquiredLock = Extract<LockResult, { held: true }>

export type SyncRunOptions = ServiceOptions & {
  readonly mode: SyncMode
  readonly streams: readonly StreamName[]
  readonly isSliceOver?: (() => boolean) | undefined
  /** For how long facts are derived at the end; what is left stays pending. */
  readonly maxFactsMs?: Ms | undefined
  readonly onProgress: (progress: SyncProgress, service: Service) => void
}

type SyncRunResult = { readonly run: SyncResult; readonly requests: number; readonly isLockLost: boolean }

/** Releases the lock at the end. `isLockLost`: another process took the lock meanwhile, and the run was stopped. */
export async function runSyncUnderLock(
  lock: AcquiredLock,
  warehouse: Warehouse,
  budgets: RequestBudgets,
  project: ProjectConfig,
  options: SyncRunOptions,
): Promise<SyncRunResult> {
  return withService(project, budgets.forProject(project), options, async (service) => {
    let isLockLost = false
    const stopHeartbeat = startLockHeartbeat(lock, () => {
      isLockLost = true
      service.stop()
    })
    try {
      const syncOnce = () =>
        runSync({
          ...project,
          mode: options.mode,
          streams: new Set(options.streams),
          mirrored: new Set(project.streams),
          lookBackSeconds: Math.ceil(project.lookBackMs / 1000),
          get: service.client.get,
          mirror: warehouse.mirror(project.projectId, { schema: project.schema, lockToken: lock.token }),
          requestCount: service.client.requestCount,
          now: Date.now,
          signal: service.signal,
          isSliceOver: options.isSliceOver,
          onProgress: (progress) => options.onProgress(progress, service),
          log: options.log,
        })
      const { log, maxFactsMs } = options
      const factsOptions = { signal: service.signal, log, ...(maxFactsMs === undefined ? {} : { maxMs: maxFactsMs }) }
      const run = await withFreshFacts(warehouse, project, factsOptions, syncOnce)
      const changed = new Map(run.reports.map((report) => [report.stream, report.changed]))
      await warehouse.rememberRowCounts(project.projectId, changed, Date.now())
      return { run, requests: service.client.requestCount(), isLockLost }
    } finally {
      stopHeartbeat()
    }
  }).finally(() => lock.release())
}

export function startLockHeartbeat(lock: Pick<AcquiredLock, 'heartbeat'>, onLost: () => void): () => void {
  const sendHeartbeat = () =>
    lock.heartbeat(Date.now()).then(
      (isHeld) => isHeld || onLost(),
      () => {},
    )
  const timer = setInterval(() => void sendHeartbeat(), heartbeatTimeoutMs / 6).unref()
  return () => clearInterval(timer)
}
