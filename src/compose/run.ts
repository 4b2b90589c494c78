/** One run over some streams of a project, under their lock: what `sync` does once and a worker does portion by portion. */
import type { ProjectConfig } from '../config.ts'
import type { RunMode } from '../core/mirror.ts'
import type { SyncProgress } from '../core/report.ts'
import type { StreamName } from '../core/row.ts'
import { type Synced, sync } from '../sync/sync.ts'
import { type Lock, silenceMs } from '../warehouse/mirror/lock.ts'
import type { Warehouse } from '../warehouse/open.ts'
import type { Budgets } from './budgets.ts'
import { type Service, type ServiceOptions, withService } from './service.ts'

export type HeldLock = Extract<Lock, { held: true }>

export type RunAsk = ServiceOptions & {
  readonly mode: RunMode
  readonly streams: readonly StreamName[]
  readonly isEnough?: () => boolean
  readonly onProgress: (progress: SyncProgress, service: Service) => void
}

/** The lock is released at the end. `lost`: it went to another process meanwhile, and the run was stopped. */
export async function runUnder(
  lock: HeldLock,
  warehouse: Warehouse,
  budgets: Budgets,
  project: ProjectConfig,
  ask: RunAsk,
): Promise<{ readonly synced: Synced; readonly requests: number; readonly lost: boolean }> {
  return withService(project, budgets.of(project), ask, async (service) => {
    let lost = false
    const stopBeating = keepAlive(lock, () => {
      lost = true
      service.stop()
    })
    try {
      const synced = await sync({
        project: project.projectId,
        mode: ask.mode,
        streams: new Set(ask.streams),
        mirrored: new Set(project.streams),
        startDate: project.startDate,
        timeZone: project.timeZone,
        lookBack: Math.ceil(project.lookBackMs / 1000),
        get: service.client.get,
        mirror: warehouse.mirror(project.projectId, { schema: project.schema, holder: lock.token }),
        requests: service.client.requests,
        now: Date.now,
        signal: service.signal,
        ...(ask.isEnough === undefined ? {} : { isEnough: ask.isEnough }),
        onProgress: (progress) => ask.onProgress(progress, service),
        log: ask.log,
      })
      return { synced, requests: service.client.requests(), lost }
    } finally {
      stopBeating()
    }
  }).finally(() => lock.release())
}

/** Signs of life for the lock. */
function keepAlive(lock: HeldLock, onLost: () => void): () => void {
  const beat = () =>
    lock.beat(Date.now()).then(
      (held) => held || onLost(),
      () => {},
    )
  const timer = setInterval(() => void beat(), silenceMs / 6)
  return () => clearInterval(timer)
}
