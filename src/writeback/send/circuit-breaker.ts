/**
 * Stops replies and notes while something is wrong with all of them: better late than wrong a thousand times. Pure; what
 * has happened stands in the queue itself, so every process sees the same, and whoever mends the rows lets them go.
 */
import type { SendOutcome, ClaimFilter, ClaimableWriteback } from '../../core/outbox/repository.ts'
import type { Operation } from '../../core/outbox/writeback-request.ts'
import { type EpochMs, type Ms, parseTime } from '../../core/time.ts'

/** So many in a row that got no answer stop all; so many in a row that were refused stop the import that they came with. */
const tripThresholds = { uncertain: 5, refused: 10 } as const

/** Newest first; enough to see a row of them also where several imports go side by side. */
export const outcomesConsidered = 60

/** After this rest one may try whether it is better. */
const coolDownMs: Ms = 15 * 60_000

export type CircuitState = {
  /** Null: only some imports are held, if any. */
  readonly allReason: string | null
  /** Why, by the import; null = those that came with none. */
  readonly batchReasons: ReadonlyMap<string | null, string>
}

export const closedCircuits: CircuitState = { allReason: null, batchReasons: new Map() }

/** `fates`: newest first. */
export function evaluateCircuits(outcomes: readonly SendOutcome[], now: EpochMs): CircuitState {
  const serviceOutcomes = outcomes.filter(({ isOwnFault: ownFault }) => !ownFault)
  const all = findStreak(serviceOutcomes, 'uncertain', tripThresholds.uncertain, now)
  const batches = new Map<string | null, string>()
  for (const [batch, batchOutcomes] of Map.groupBy(serviceOutcomes, ({ batchId }) => batchId)) {
    const why = findStreak(batchOutcomes, 'failed', tripThresholds.refused, now)
    if (why !== null) batches.set(batch, why)
  }
  return { allReason: all, batchReasons: batches }
}

/** What may be worked on. `lacking`: operations that the key has no scope for. */
export function toClaimFilter({ allReason: all, batchReasons: batches }: CircuitState, unscoped: readonly Operation[]): ClaimFilter {
  return { withoutOperations: unscoped, withoutQueuedSends: all === null ? [...batches.keys()] : 'all' }
}

/** Whether `partWithout` leaves this one out. One that was sent is looked for all the same. */
export function isBlocked(
  { allReason: all, batchReasons: batches }: CircuitState,
  unscoped: readonly Operation[],
  { operation, status, batchId }: ClaimableWriteback,
): boolean {
  if (unscoped.includes(operation)) return true
  const wouldGo = status === 'queued' && (operation === 'message' || operation === 'note')
  return wouldGo && (all !== null || batches.has(batchId))
}

function findStreak(outcomes: readonly SendOutcome[], status: SendOutcome['status'], length: number, now: EpochMs): string | null {
  const last = outcomes.slice(0, length)
  const newest = last[0]
  if (newest === undefined || last.length < length || last.some((outcome) => outcome.status !== status)) return null
  // Also the other way round: a clock may have been set back since.
  if (Math.abs(now - (parseTime(newest.at) ?? 0) * 1000) > coolDownMs) return null
  return `the last ${length} replies and notes were ${status}: ${newest.why}`
}
