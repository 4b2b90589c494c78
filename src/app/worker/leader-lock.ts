/** Roles that one of all workers has, each held by a lock. */
import type { Warehouse } from '../../warehouse/open.ts'
import type { AcquiredLock } from '../sync-run.ts'

export type LeaderLocks = {
  /** Takes or keeps it; false: another worker has it. */
  readonly tryLead: (role: string) => Promise<boolean>
  readonly release: () => Promise<void>
}

/** No project's id: roles are held in the table of locks, too. */
const allProjects = '*'

export function createLeaderLocks(warehouse: Warehouse): LeaderLocks {
  const held = new Map<string, AcquiredLock>()
  return {
    tryLead: async (role) => {
      if (await held.get(role)?.heartbeat(Date.now())) return true
      held.delete(role)
      const lock = await warehouse.lockStreams(allProjects, [role], Date.now())
      if (lock.held) held.set(role, lock)
      return lock.held
    },
    release: async () => {
      for (const lock of held.values()) await lock.release().catch(() => {})
    },
  }
}
