/** Sends the queued write-backs, several lanes in parallel, until nothing more can be done. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError, type ApiFailure } from '../../service/core/api-failure.ts'
import type { Ms } from '../../values/time.ts'
import type { Rest } from '../core/batches.ts'
import { createOutcomeCounter, type OutcomeCounts, type SettledWriteback } from '../core/group-reasons.ts'
import type { ClaimableWriteback } from '../core/outbox-entry.ts'
import type { Operation } from '../core/writeback-request.ts'
import type { WritebackDeps } from '../operations/operation-handler.ts'
import {
  type CircuitState,
  closedCircuits,
  evaluateCircuits,
  isBlocked,
  operationsWithoutScope,
  outcomesConsidered,
  toClaimFilter,
} from './circuit-breaker.ts'
import { sendLane } from './lane.ts'

type SendQueuedOptions = {
  readonly maxConcurrentLanes: number
  /** Ignores the circuit breaker. */
  readonly despiteFailures: boolean
  readonly onProgress: (progress: SendProgress) => void
  /** How often it looks for write-backs that became due or were queued. */
  readonly pollMs?: Ms
}

export type SendProgress = OutcomeCounts & {
  /** Being sent or verified now. */
  readonly working: number
  /** Set while nothing can be sent, and something can be later. */
  readonly rest: Rest | null
}

type SendQueuedResult = {
  readonly outcomes: OutcomeCounts
  /** The failure that stopped it early: the service does not answer, or denies the key. */
  readonly fatalFailure: ApiFailure | null
  /** Operations for which the key lacks the scope. */
  readonly denied: ReadonlyMap<Operation, ApiFailure>
  readonly circuits: CircuitState
}

/** This many failed lanes in a row count as an outage of the service. */
const maxFailuresInARow = 8

const defaultPollMs: Ms = 250

/** Never throws ApiError; anything thrown is a bug. */
export async function sendQueued(deps: WritebackDeps, options: SendQueuedOptions): Promise<SendQueuedResult> {
  const { outbox, signal, now } = deps
  const { pollMs = defaultPollMs } = options
  const running = new Map<string, Promise<void>>()
  let rest: Rest | null = null
  const reportProgress = () => options.onProgress({ ...run.outcomes(), working: running.size, rest })
  const run = createRunState(reportProgress)
  let circuits = closedCircuits
  const canContinue = (next: ClaimableWriteback) =>
    run.canContinue() && !signal.aborted && !isBlocked(circuits, run.unscopedOperations(), next)

  const startLane = (head: ClaimableWriteback) =>
    sendLane(deps, head, { canContinue, onSettled: run.onSettled })
      .then(run.onServiceFailure, (error: unknown) => run.onError(head.operation, error))
      .finally(() => {
        running.delete(head.lane)
        reportProgress()
      })

  try {
    while (run.canContinue() && !signal.aborted) {
      if (!options.despiteFailures)
        circuits = evaluateCircuits(await outbox.listRecentOutcomes(outcomesConsidered), now())
      const filter = toClaimFilter(circuits, run.unscopedOperations())
      for (const head of await outbox.findClaimable(now(), options.maxConcurrentLanes * 2, filter)) {
        if (running.size < options.maxConcurrentLanes && !running.has(head.lane))
          running.set(head.lane, startLane(head))
      }
      if (running.size === 0 && !(await outbox.hasPending(toClaimFilter(circuits, run.unscopedOperations())))) break
      rest = running.size === 0 ? await outbox.findRest(now(), toClaimFilter(circuits, run.unscopedOperations())) : null
      if (rest !== null) reportProgress()
      await Promise.race([...running.values(), sleep(pollMs, undefined, { signal }).catch(() => {})])
    }
  } catch (error) {
    run.onBug(error)
  }
  // Sends in flight are finished; if aborted, their outcome would be unknown.
  await Promise.all(running.values())
  await outbox.recordFinishedBatches().catch(run.onBug)
  return { ...run.finish(), circuits }
}

/** Counts outcomes and failures, and decides whether sending can continue. */
function createRunState(onChange: () => void) {
  const outcomes = createOutcomeCounter()
  const denied = new Map<Operation, ApiFailure>()
  let failuresInARow = 0
  let fatalFailure: ApiFailure | null = null
  let bug: { readonly error: unknown } | null = null
  const onBug = (error: unknown) => {
    bug ??= { error }
  }
  return {
    outcomes: outcomes.snapshot,
    canContinue: () => fatalFailure === null && bug === null,
    unscopedOperations: () => [...denied.keys()],
    onSettled: (outcome: SettledWriteback) => {
      outcomes.add(outcome)
      failuresInARow = 0
      onChange()
    },
    onServiceFailure: (failure: ApiFailure | null) => {
      if (failure === null || failure.kind === 'throttled') return
      failuresInARow += 1
      if (failuresInARow >= maxFailuresInARow) fatalFailure ??= failure
    },
    onError: (operation: Operation, error: unknown) => {
      if (!(error instanceof ApiError)) return onBug(error)
      const unscoped = operationsWithoutScope(operation, error.failure)
      for (const lacking of unscoped) denied.set(lacking, error.failure)
      if (unscoped.length === 0) fatalFailure ??= error.failure
    },
    onBug,
    finish: () => {
      if (bug !== null) throw bug.error
      return { outcomes: outcomes.snapshot(), fatalFailure, denied }
    },
  }
}
