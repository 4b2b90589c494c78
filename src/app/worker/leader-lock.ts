/** Leader election: locks for roles that only one of all workers has. */
import type { Warehouse } from '../../warehouse/open.ts'
import type { AcquiredLock } from '../sync-run.ts'

export type LeaderLocks = {
  /** Acquires or extends the role; false: another worker has it. */
  readonly tryAcquireLeadership: (role: string) => Promise<boolean>
  readonly release: () => Promise<void>
}

/** Not the id of a project: roles are in the table of stream locks, too. */
const allProjects = '*'

export function createLeaderLocks(warehouse: Warehouse): LeaderLocks {
  const held = new Map<string, AcquiredLock>()
  return {
    tryAcquireLeadership: async (role) => {
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
