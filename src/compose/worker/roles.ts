/** Roles that one of all workers has, each held by a lock. */
import type { Warehouse } from '../../warehouse/open.ts'
import type { HeldLock } from '../run.ts'

export type Roles = {
  /** Takes or keeps it; false: another worker has it. */
  readonly lead: (role: string) => Promise<boolean>
  readonly release: () => Promise<void>
}

/** No project's id: roles are held in the table of locks, too. */
const everyProject = '*'

export function rolesIn(warehouse: Warehouse): Roles {
  const held = new Map<string, HeldLock>()
  return {
    lead: async (role) => {
      if (await held.get(role)?.beat(Date.now())) return true
      held.delete(role)
      const lock = await warehouse.lock(everyProject, [role], Date.now())
      if (lock.held) held.set(role, lock)
      return lock.held
    },
    release: async () => {
      for (const lock of held.values()) await lock.release().catch(() => {})
    },
  }
}
