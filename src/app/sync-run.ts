/** A sync run over some streams of a project, under their lock: `sync` makes one, a worker one for each time slice. */
import type { ProjectConfig } from '../config/config.ts'
import type { SyncProgress } from '../core/command-reports.ts'
import type { SyncMode } from '../core/mirror.ts'
import type { StreamName } from '../core/stream-specs.ts'
import type { Ms } from '../core/time.ts'
import { runSync, type SyncResult } from '../sync/sync.ts'
import { heartbeatTimeoutMs, type LockResult } from '../warehouse/mirror/stream-locks.ts'
import type { Warehouse } from '../warehouse/open.ts'
import { withFreshFacts } from './facts.ts'
import type { RequestBudgets } from './request-budgets.ts'
import { type Service, type ServiceOptions, withService } from './service.ts'

export type AcquiredLock = Extract<LockResult, { held: true }>

type SyncRunOptions = ServiceOptions & {
  readonly mode: SyncMode
  readonly streams: readonly StreamName[]
  readonly isSliceOver?: () => boolean
  /** For how long facts are derived at the end; what is left stays pending. */
  readonly maxFactsMs?: Ms
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
          ...(options.isSliceOver === undefined ? {} : { isSliceOver: options.isSliceOver }),
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
