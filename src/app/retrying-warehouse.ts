/**
 * The warehouse for a command that works for long: what it asks and tells is tried again while the warehouse is away.
 * Each of these bears a repetition, also where it was done and only its answer was lost.
 */
import type { Mirror } from '../core/mirror.ts'
import type { OutboxAdmin } from '../core/outbox/admin.ts'
import type { OutboxRepository } from '../core/outbox/repository.ts'
import { isWarehouseUnavailable } from '../warehouse/database/explain-error.ts'
import type { LockResult } from '../warehouse/mirror/stream-locks.ts'
import type { Warehouse } from '../warehouse/open.ts'
import type { WarehouseRetry } from './warehouse-retry.ts'

export function retryingWarehouse(warehouse: Warehouse, retry: WarehouseRetry): Warehouse {
  const { run: keep } = retry
  return {
    ...warehouse,
    mirror: (project, options) => retryingMirror(warehouse.mirror(project, options), retry),
    outbox: (project) => retryingOutbox(warehouse.outbox(project), retry),
    outboxAdmin: (project) => retryingOutboxAdmin(warehouse.outboxAdmin(project), retry),
    // One that was taken without our hearing of it is nobody's.
    lockStreams: async (...args) => retryingLock(await keep(() => warehouse.lockStreams(...args)), retry),
    status: (...args) => keep(() => warehouse.status(...args)),
    workers: retryAllMethods(warehouse.workers, retry),
    projects: retryAllMethods(warehouse.projects, retry),
    streamStates: retryAllMethods(warehouse.streamStates, retry),
  }
}

/** A sign of life that comes a second later is another one: it is left out meanwhile. */
function retryingMirror<T extends Mirror>(mirror: T, retry: WarehouseRetry): T {
  return {
    ...retryAllMethods(mirror, retry),
    heartbeat: async (...args: Parameters<Mirror['heartbeat']>) => {
      if (!retry.isWarehouseAway()) await mirror.heartbeat(...args).catch(rethrowUnlessAway)
    },
  }
}

function retryingLock(lock: LockResult, retry: WarehouseRetry): LockResult {
  if (!lock.held) return lock
  return {
    ...lock,
    heartbeat: async (now) => retry.isWarehouseAway() || lock.heartbeat(now),
    release: () => retry.run(lock.release),
  }
}

/**
 * That a request leaves is not written down twice: whoever does not know whether it was sends nothing, and says so. Lost
 * claims are found again when their lease is over.
 */
function retryingOutbox(outbox: OutboxRepository, retry: WarehouseRetry): OutboxRepository {
  const { run: keep } = retry
  const why = 'the warehouse did not answer when it was written down that this leaves: nothing was sent'
  return {
    ...retryAllMethods(outbox, retry),
    markSending: async (one, ...rest) => {
      try {
        return await outbox.markSending(one, ...rest)
      } catch (error) {
        rethrowUnlessAway(error)
        await keep(() => outbox.settleSent(one, { event: 'undone', why }))
        return false
      }
    },
  }
}

/** What is queued may come from what can be read only once, and people's decisions are theirs to repeat. */
function retryingOutboxAdmin(admin: OutboxAdmin, retry: WarehouseRetry): OutboxAdmin {
  const { enqueue, decide } = admin
  return { ...retryAllMethods(admin, retry), enqueue, decide }
}

/** Every function of a port. */
function retryAllMethods<T extends object>(port: T, { run: keep }: WarehouseRetry): T {
  const retrying = Object.entries(port).map(([name, member]) => {
    const retried = (...values: unknown[]) => keep(() => member.apply(port, values))
    return [name, typeof member === 'function' ? retried : member]
  })
  return Object.fromEntries(retrying)
}

function rethrowUnlessAway(error: unknown): void {
  if (!isWarehouseUnavailable(error)) throw error
}
