/** Sends the queued write-backs, several lanes in parallel, until nothing more can be done. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError, type ApiFailure } from '../../core/api-failure.ts'
import type { PushProgress } from '../../core/command-reports.ts'
import type { ClaimableWriteback } from '../../core/outbox/repository.ts'
import type { StatusCounts, WritebackStatus } from '../../core/outbox/state.ts'
import type { Operation } from '../../core/outbox/writeback-request.ts'
import type { Ms } from '../../core/time.ts'
import type { WritebackDeps } from '../deps.ts'
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

export type SendQueuedOptions = {
  readonly maxConcurrentLanes: number
  /** Ignores the circuit breaker. */
  readonly despiteFailures: boolean
  readonly onProgress: (progress: Pick<PushProgress, 'settled' | 'working'>) => void
}

export type SendQueuedResult = {
  /** Settled write-backs by status. */
  readonly settled: StatusCounts
  /** The failure that stopped it early: the service does not answer, or denies the key. */
  readonly fatalFailure: ApiFailure | null
  /** Operations for which the key lacks the scope. */
  readonly denied: ReadonlyMap<Operation, ApiFailure>
  readonly circuits: CircuitState
}

/** This many failed lanes in a row count as an outage of the service. */
const maxFailuresInARow = 8

/** Interval between checks for write-backs that became due or were queued. */
const pollMs: Ms = 250

/** Never throws ApiError; anything thrown is a bug. */
export async function sendQueued(deps: WritebackDeps, options: SendQueuedOptions): Promise<SendQueuedResult> {
  const { outbox, signal, now } = deps
  const running = new Map<string, Promise<void>>()
  const reportProgress = () => options.onProgress({ settled: run.settledCount(), working: running.size })
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
  const settled: Partial<Record<WritebackStatus, number>> = {}
  const denied = new Map<Operation, ApiFailure>()
  let failuresInARow = 0
  let fatalFailure: ApiFailure | null = null
  let bug: { readonly error: unknown } | null = null
  const onBug = (error: unknown) => {
    bug ??= { error }
  }
  return {
    settledCount: () => Object.values(settled).reduce((sum, count) => sum + count, 0),
    canContinue: () => fatalFailure === null && bug === null,
    unscopedOperations: () => [...denied.keys()],
    onSettled: (status: WritebackStatus) => {
      settled[status] = (settled[status] ?? 0) + 1
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
      return { settled, fatalFailure, denied }
    },
  }
}
