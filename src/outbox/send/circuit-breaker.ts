/**
 * Stops replies and notes after a series of bad outcomes, and operations for which the key lacks
 * the scope. Derived from the outbox, so every process sees the same, and correcting rows closes
 * it; refused scopes are counted in each process.
 */
import { type ApiFailure, describeFailure } from '../../service/core/api-failure.ts'
import { isMissingScope } from '../../service/core/whose-refusal.ts'
import { type EpochMs, type Ms, parseTime } from '../../values/time.ts'
import type { CommandHint } from '../../values/user-error.ts'
import type { Rest } from '../core/batches.ts'
import { toCommonReason } from '../core/group-reasons.ts'
import { type Operation, operations, operationTypes } from '../core/operations.ts'
import type { ClaimFilter, SendOutcome } from '../core/outbox-entry.ts'

/** So many uncertain outcomes in a row stop everything, so many refusals their import. */
const tripThresholds = { uncertain: 5, refused: 10 } as const

const coolDownMs: Ms = 15 * 60_000

type CircuitState = {
  /** Null if at most some imports are stopped. */
  readonly all: Rest | null
  /** By import; the key null means write-backs without an import. */
  readonly batches: ReadonlyMap<string | null, Rest>
}

export const closedCircuits: CircuitState = { all: null, batches: new Map() }

/** `outcomes`: newest first. */
export function evaluateCircuits(outcomes: readonly SendOutcome[], now: EpochMs): CircuitState {
  const serviceOutcomes = outcomes.filter(({ isOwnFault }) => !isOwnFault)
  const ofBatch = [...Map.groupBy(serviceOutcomes, ({ batchId }) => batchId)].flatMap(
    ([batch, own]) => {
      const streak = findStreak(own, 'failed', tripThresholds.refused, now)
      return streak === null ? [] : [[batch, streak] as const]
    },
  )
  return {
    all: findStreak(serviceOutcomes, 'uncertain', tripThresholds.uncertain, now),
    batches: new Map(ofBatch),
  }
}

/** What is counted anyway says for most projects that it is closed. */
export function mayBeOpen({
  uncertain = 0,
  failed = 0,
}: Readonly<Record<string, number>>): boolean {
  return uncertain >= tripThresholds.uncertain || failed >= tripThresholds.refused
}

/**
 * What was sent is still verified. `unscoped`: operations for which the key lacks the scope.
 * `lanes`: left for later.
 */
export function toClaimFilter(
  { all, batches }: CircuitState,
  unscoped: readonly Operation[],
  lanes: readonly string[] = [],
): ClaimFilter {
  const withoutQueuedSends = all === null ? [...batches.keys()] : 'all'
  return { withoutOperations: unscoped, withoutQueuedSends, withoutLanes: lanes }
}

/** As many as may be refused for reasons of their own at the head of a queue. */
const maxTargets = 8

/**
 * Whether the key lacks a scope, or single targets are refused as if it did. Each is left for
 * later, and only many in a row, with none accepted since, hold back all operations on such
 * targets. Tests: test/outbox/refused-targets.test.ts.
 */
export function createScopeRefusals() {
  const byKind = new Map<string, { readonly failure: ApiFailure; readonly lanes: Set<string> }>()
  const kindOf = (operation: Operation) => operationTypes[operation].target
  return {
    /** False: the failure is not about a scope. */
    add(lane: string, operation: Operation, failure: ApiFailure): boolean {
      if (!isMissingScope(failure)) return false
      const lanes = byKind.get(kindOf(operation))?.lanes ?? new Set()
      byKind.set(kindOf(operation), { failure, lanes: lanes.add(lane) })
      return true
    },
    /** None was accepted since, so it may be the key. */
    hasRefused: (lane: string): boolean =>
      [...byKind.values()].some(({ lanes }) => lanes.has(lane)),
    accept: (operation: Operation): void => void byKind.delete(kindOf(operation)),
    /**
     * The operations to hold back: those on one kind of target need the same scopes. `targets`:
     * after so many refusals.
     */
    denied(targets = maxTargets): ReadonlyMap<Operation, ApiFailure> {
      const entries = operations.flatMap((operation) => {
        const { lanes, failure } = byKind.get(kindOf(operation)) ?? {}
        const isDenied = failure !== undefined && lanes !== undefined && lanes.size >= targets
        return isDenied ? [[operation, failure] as const] : []
      })
      return new Map(entries)
    },
  }
}

function findStreak(
  outcomes: readonly SendOutcome[],
  status: SendOutcome['status'],
  length: number,
  now: EpochMs,
): Rest | null {
  const last = outcomes.slice(0, length)
  const newest = last[0]
  if (
    newest === undefined ||
    last.length < length ||
    last.some((outcome) => outcome.status !== status)
  )
    return null
  const newestAt = (parseTime(newest.at) ?? 0) * 1000
  // Absolute difference, as a clock may have been set back since.
  if (Math.abs(now - newestAt) > coolDownMs) return null
  const why = `the last ${length} replies and notes were ${status}: ${newest.why}`
  return { why, until: newestAt + coolDownMs }
}

export function circuitNotices({ all, batches }: CircuitState, hint: CommandHint): string[] {
  const list = hint('writeback list')
  const push = hint('push --despite-failures')
  const next = `; inspect them with \`${list}\`, and continue with \`${push}\``
  return [
    ...(all === null ? [] : [`replies and notes are stopped: ${all.why}${next}`]),
    ...[...batches].map(
      ([batch, { why }]) =>
        `${batch === null ? 'write-backs without an import are' : `the import ${batch} is`} stopped: ${why}${next}`,
    ),
  ]
}

/** Operations for which the key lacks the scope. */
export function missingScopeNotices(denied: ReadonlyMap<Operation, ApiFailure>): string[] {
  const deniedByReason = Map.groupBy(denied, ([, failure]) => describeFailure(failure))
  return [...deniedByReason].map(
    ([why, entries]) => `${entries.map(([operation]) => operation).join(', ')} stay queued: ${why}`,
  )
}

/** Lanes that failed again and again while the service answered for the project. */
export function failingLaneNotices(failing: ReadonlyMap<string, ApiFailure>): string[] {
  const byReason = Map.groupBy(failing.values(), (failure) =>
    toCommonReason(describeFailure(failure)),
  )
  return [...byReason].map(([why, { length }]) => {
    const targets =
      length === 1 ? '1 conversation or visitor is' : `${length} conversations or visitors are`
    return `${targets} left for the next push, as the service failed for them only: ${why}`
  })
}

/** With several projects, it is unknown which one they belong to. */
export function withoutProjectNotices(count: number): string[] {
  if (count === 0) return []
  const [rows, are] = count === 1 ? ['1 row has', 'is'] : [`${count} rows have`, 'are']
  return [
    `${rows} no project and ${are} not sent until project_id is set in ` +
      'writebacks and writeback_events',
  ]
}
