/**
 * Stops replies and notes while something is wrong with all of them: better late than wrong a thousand times. Pure; what
 * has happened stands in the queue itself, so every process sees the same, and whoever mends the rows lets them go.
 */
import type { Fate, Part, Ready } from '../core/outbox/outbox.ts'
import type { Operation } from '../core/outbox/wish.ts'
import { type EpochMs, type Ms, moment } from '../core/time.ts'

/** So many in a row that got no answer stop all; so many in a row that were refused stop the import that they came with. */
const inARow = { uncertain: 5, refused: 10 } as const

/** Newest first; enough to see a row of them also where several imports go side by side. */
export const fatesLookedAt = 60

/** After this rest one may try whether it is better. */
const restMs: Ms = 15 * 60_000

export type Held = {
  /** Null: only some imports are held, if any. */
  readonly all: string | null
  /** Why, by the import; null = those that came with none. */
  readonly batches: ReadonlyMap<string | null, string>
}

export const nothingHeld: Held = { all: null, batches: new Map() }

/** `fates`: newest first. */
export function heldBack(fates: readonly Fate[], now: EpochMs): Held {
  const told = fates.filter(({ ownFault }) => !ownFault)
  const all = streak(told, 'uncertain', inARow.uncertain, now)
  const batches = new Map<string | null, string>()
  for (const [batch, own] of Map.groupBy(told, ({ batchId }) => batchId)) {
    const why = streak(own, 'failed', inARow.refused, now)
    if (why !== null) batches.set(batch, why)
  }
  return { all, batches }
}

/** What may be worked on. `lacking`: operations that the key has no scope for. */
export function partWithout({ all, batches }: Held, lacking: readonly Operation[]): Part {
  return { withoutOperations: lacking, withoutSending: all === null ? [...batches.keys()] : 'all' }
}

/** Whether `partWithout` leaves this one out. One that was sent is looked for all the same. */
export function staysQueued(
  { all, batches }: Held,
  lacking: readonly Operation[],
  { operation, status, batchId }: Ready,
): boolean {
  if (lacking.includes(operation)) return true
  const wouldGo = status === 'queued' && (operation === 'message' || operation === 'note')
  return wouldGo && (all !== null || batches.has(batchId))
}

function streak(fates: readonly Fate[], status: Fate['status'], length: number, now: EpochMs): string | null {
  const last = fates.slice(0, length)
  const newest = last[0]
  if (newest === undefined || last.length < length || last.some((fate) => fate.status !== status)) return null
  // Also the other way round: a clock may have been set back since.
  if (Math.abs(now - (moment(newest.at) ?? 0) * 1000) > restMs) return null
  return `the last ${length} replies and notes were ${status}: ${newest.why}`
}
