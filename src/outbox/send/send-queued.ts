/** Sends the queued write-backs, several lanes in parallel, until nothing more can be done. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError, type ApiFailure } from '../../service/core/api-failure.ts'
import type { Ms } from '../../values/time.ts'
import type { Rest } from '../core/batches.ts'
import { createOutcomeCounter, type OutcomeCounts } from '../core/group-reasons.ts'
import type { Operation } from '../core/operations.ts'
import type { ClaimableWriteback } from '../core/outbox-entry.ts'
import type { WritebackDeps } from '../handlers/operation-handler.ts'
import {
  closedCircuits,
  evaluateCircuits,
  isBlocked,
  operationsWithoutScope,
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

/** This many failed lanes in a row count as an outage of the service. */
const maxFailuresInARow = 8

const defaultPollMs: Ms = 250

/**
 * Never throws ApiError; anything thrown is a bug. `fatalFailure` stopped it early: the service does not answer, or denies the
 * key. `denied`: operations for which the key lacks the scope.
 */
export async function sendQueued(deps: WritebackDeps, options: SendQueuedOptions) {
  const { outbox, signal, now } = deps
  const { maxConcurrentLanes, despiteFailures, onProgress, pollMs = defaultPollMs } = options
  const outcomes = createOutcomeCounter()
  const running = new Map<string, Promise<void>>()
  const denied = new Map<Operation, ApiFailure>()
  const bugs: unknown[] = []
  let circuits = closedCircuits
  let rest: Rest | null = null
  let failuresInARow = 0
  let fatalFailure = null as ApiFailure | null
  const canContinue = () => fatalFailure === null && bugs.length === 0 && !signal.aborted
  const claimFilter = () => toClaimFilter(circuits, [...denied.keys()])
  const reportProgress = () => onProgress({ ...outcomes.snapshot(), working: running.size, rest })

  const workOnLane = async (head: ClaimableWriteback) => {
    try {
      const failure = await sendLane(deps, head, {
        canContinue: (next) => canContinue() && !isBlocked(circuits, [...denied.keys()], next),
        onSettled: (outcome) => {
          outcomes.add(outcome)
          failuresInARow = 0
          reportProgress()
        },
      })
      if (failure !== null && failure.kind !== 'throttled') failuresInARow += 1
      if (failuresInARow >= maxFailuresInARow) fatalFailure ??= failure
    } catch (error) {
      if (!(error instanceof ApiError)) return bugs.push(error)
      const unscoped = operationsWithoutScope(head.operation, error.failure)
      for (const operation of unscoped) denied.set(operation, error.failure)
      if (unscoped.length === 0) fatalFailure ??= error.failure
    }
  }
  const startLane = (head: ClaimableWriteback) => {
    const lane = workOnLane(head).finally(() => {
      running.delete(head.lane)
      reportProgress()
    })
    running.set(
      head.lane,
      lane.then(() => {}),
    )
  }

  try {
    while (canContinue()) {
      if (!despiteFailures) circuits = evaluateCircuits(await outbox.listRecentOutcomes(), now())
      for (const head of await outbox.findClaimable(now(), maxConcurrentLanes * 2, claimFilter()))
        if (running.size < maxConcurrentLanes && !running.has(head.lane)) startLane(head)
      if (running.size === 0 && !(await outbox.hasPending(claimFilter()))) break
      rest = running.size === 0 ? await outbox.findRest(now(), claimFilter()) : null
      if (rest !== null) reportProgress()
      await Promise.race([...running.values(), sleep(pollMs, undefined, { signal }).catch(() => {})])
    }
  } catch (error) {
    bugs.push(error)
  }
  // Sends in flight are finished; if aborted, their outcome would be unknown.
  await Promise.all(running.values())
  await outbox.recordFinishedBatches().catch((error: unknown) => bugs.push(error))
  if (bugs.length > 0) throw bugs[0]
  return { outcomes: outcomes.snapshot(), fatalFailure, denied, circuits }
}
