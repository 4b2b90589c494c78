/**
 * The warehouse for a command that works for long: what it asks and tells is tried again while the warehouse is away.
 * Each of these bears a repetition, also where it was done and only its answer was lost.
 */
import type { Mirror } from '../core/mirror.ts'
import type { QueueDesk } from '../core/outbox/desk.ts'
import type { Outbox } from '../core/outbox/outbox.ts'
import { isAway } from '../warehouse/database/trouble.ts'
import type { Lock } from '../warehouse/mirror/lock.ts'
import type { Warehouse } from '../warehouse/open.ts'
import type { Patience } from './patience.ts'

export function patientWarehouse(warehouse: Warehouse, patience: Patience): Warehouse {
  const { keep } = patience
  return {
    ...warehouse,
    mirror: (project, options) => patientMirror(warehouse.mirror(project, options), patience),
    outbox: (project) => patientOutbox(warehouse.outbox(project), patience),
    queueDesk: (project) => patientDesk(warehouse.queueDesk(project), patience),
    // One that was taken without our hearing of it is nobody's.
    lock: async (...asked) => patientLock(await keep(() => warehouse.lock(...asked)), patience),
    status: (...asked) => keep(() => warehouse.status(...asked)),
    gaps: (project) => keep(() => warehouse.gaps(project)),
    fleet: all(warehouse.fleet, patience),
  }
}

/** A sign of life that comes a second later is another one: it is left out meanwhile. */
function patientMirror<T extends Mirror>(mirror: T, patience: Patience): T {
  return {
    ...all(mirror, patience),
    beat: async (...told: Parameters<Mirror['beat']>) => {
      if (!patience.isAway()) await mirror.beat(...told).catch(unlessAway)
    },
  }
}

function patientLock(lock: Lock, patience: Patience): Lock {
  if (!lock.held) return lock
  return {
    ...lock,
    beat: async (now) => patience.isAway() || lock.beat(now),
    release: () => patience.keep(lock.release),
  }
}

/**
 * That a request leaves is not written down twice: whoever does not know whether it was sends nothing, and says so. Lost
 * claims are found again when their lease is over.
 */
function patientOutbox(outbox: Outbox, patience: Patience): Outbox {
  const { keep } = patience
  const why = 'the warehouse did not answer when it was written down that this leaves: nothing was sent'
  return {
    ...all(outbox, patience),
    leave: async (one, ...rest) => {
      try {
        return await outbox.leave(one, ...rest)
      } catch (error) {
        unlessAway(error)
        await keep(() => outbox.sent(one, { happening: 'undone', why }))
        return false
      }
    },
  }
}

/** What is queued may come from what can be read only once, and people's decisions are theirs to repeat. */
function patientDesk(desk: QueueDesk, patience: Patience): QueueDesk {
  const { enqueue, decide } = desk
  return { ...all(desk, patience), enqueue, decide }
}

/** Every function of a port. */
function all<T extends object>(port: T, { keep }: Patience): T {
  const patient = Object.entries(port).map(([name, member]) => {
    const tried = (...values: unknown[]) => keep(() => member.apply(port, values))
    return [name, typeof member === 'function' ? tried : member]
  })
  return Object.fromEntries(patient)
}

function unlessAway(error: unknown): void {
  if (!isAway(error)) throw error
}
