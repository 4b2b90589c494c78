/**
 * The circuit breaker: stops replies and notes after a series of bad outcomes, and operations for which the key lacks the
 * scope. Pure. Its state is derived from the outbox, so every process sees the same, and correcting the rows closes it.
 */
import type { ApiFailure } from '../../core/api-failure.ts'
import type { ClaimableWriteback, ClaimFilter, SendOutcome } from '../../core/outbox/repository.ts'
import { type Operation, operationsWhere, operationTypes } from '../../core/outbox/writeback-request.ts'
import { type EpochMs, type Ms, parseTime } from '../../core/time.ts'

/** This many uncertain outcomes in a row stop everything; this many refusals in a row stop their import. */
const tripThresholds = { uncertain: 5, refused: 10 } as const

/** Enough to find a streak when several imports are sent in parallel. */
export const outcomesConsidered = 60

/** After this time, sending is tried again. */
const coolDownMs: Ms = 15 * 60_000

export type CircuitState = {
  /** Why everything is stopped; null if at most some imports are. */
  readonly allReason: string | null
  /** Why, by import; the key null means write-backs without an import. */
  readonly batchReasons: ReadonlyMap<string | null, string>
  /** When everything is tried again; null if at most some imports are stopped. */
  readonly allUntil: EpochMs | null
  /** When imports are tried again. */
  readonly batchUntil: ReadonlyMap<string | null, EpochMs>
}

export const closedCircuits: CircuitState = {
  allReason: null,
  batchReasons: new Map(),
  allUntil: null,
  batchUntil: new Map(),
}

/** `outcomes`: newest first. */
export function evaluateCircuits(outcomes: readonly SendOutcome[], now: EpochMs): CircuitState {
  const serviceOutcomes = outcomes.filter(({ isOwnFault }) => !isOwnFault)
  const ofAll = findStreak(serviceOutcomes, 'uncertain', tripThresholds.uncertain, now)
  const batchReasons = new Map<string | null, string>()
  const batchUntil = new Map<string | null, EpochMs>()
  for (const [batch, batchOutcomes] of Map.groupBy(serviceOutcomes, ({ batchId }) => batchId)) {
    const streak = findStreak(batchOutcomes, 'failed', tripThresholds.refused, now)
    if (streak === null) continue
    batchReasons.set(batch, streak.why)
    batchUntil.set(batch, streak.until)
  }
  return { allReason: ofAll?.why ?? null, allUntil: ofAll?.until ?? null, batchReasons, batchUntil }
}

/** What may be claimed. `unscoped`: operations for which the key lacks the scope. */
export function toClaimFilter({ allReason, batchReasons }: CircuitState, unscoped: readonly Operation[]): ClaimFilter {
  return { withoutOperations: unscoped, withoutQueuedSends: allReason === null ? [...batchReasons.keys()] : 'all' }
}

/** Whether `toClaimFilter` excludes this write-back. One that was sent is still verified. */
export function isBlocked(
  { allReason, batchReasons }: CircuitState,
  unscoped: readonly Operation[],
  { operation, status, batchId }: ClaimableWriteback,
): boolean {
  if (unscoped.includes(operation)) return true
  const isUnsent = status === 'queued' && !operationTypes[operation].isIdempotent
  return isUnsent && (allReason !== null || batchReasons.has(batchId))
}

/**
 * The operations that a failure rules out; empty if it does not concern a scope. Operations on the same kind of target
 * need the same scopes: one for writing and one for the read before it.
 */
export function operationsWithoutScope(operation: Operation, failure: ApiFailure): readonly Operation[] {
  const isMissingScope =
    failure.kind === 'denied' && (failure.scope !== null || failure.code === 'api_key_scope_missing')
  return isMissingScope ? operationsWhere(({ target }) => target === operationTypes[operation].target) : []
}

function findStreak(
  outcomes: readonly SendOutcome[],
  status: SendOutcome['status'],
  length: number,
  now: EpochMs,
): { readonly why: string; readonly until: EpochMs } | null {
  const last = outcomes.slice(0, length)
  const newest = last[0]
  if (newest === undefined || last.length < length || last.some((outcome) => outcome.status !== status)) return null
  const newestAt = (parseTime(newest.at) ?? 0) * 1000
  // Absolute difference, as a clock may have been set back since.
  if (Math.abs(now - newestAt) > coolDownMs) return null
  const why = `the last ${length} replies and notes were ${status}: ${newest.why}`
  return { why, until: newestAt + coolDownMs }
}
