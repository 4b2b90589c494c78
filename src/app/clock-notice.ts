/** Says that this machine's clock differs from the database's, by which decisions, graces, expiries and claims go. */
import type { OutboxEntry } from '../outbox/core/outbox-entry.ts'
import type { Ms } from '../values/time.ts'
import type { Warehouse } from './open.ts'

/** Longer than a slow answer of the database takes. */
const toleratedMs: Ms = 5000

/** Null: it does not. */
export async function findClockNotice({ readClock }: Pick<Warehouse, 'readClock'>): Promise<string | null> {
  const clock = await readClock()
  const offBy = Date.now() - clock()
  if (Math.abs(offBy) <= toleratedMs) return null
  const off = `${Math.round(Math.abs(offBy) / 1000)} s ${offBy > 0 ? 'ahead of' : 'behind'}`
  return `the clock of this machine is ${off} the database's, which decides when write-backs leave`
}

/** As part of the report of a decision. */
export async function clockNotices(
  warehouse: Pick<Warehouse, 'readClock'>,
): Promise<{ readonly notices?: readonly string[] }> {
  const notice = await findClockNotice(warehouse)
  return notice === null ? {} : { notices: [notice] }
}

/** Until when an approval can be taken back, by the clock of the database; null: it cannot any more. */
export async function findOpenGrace(
  { readClock }: Pick<Warehouse, 'readClock'>,
  queued: Pick<OutboxEntry, 'undoUntil'> | undefined,
): Promise<string | null> {
  const clock = await readClock()
  const undoUntil = queued?.undoUntil ?? null
  return undoUntil !== null && Date.parse(undoUntil) > clock() ? undoUntil : null
}
