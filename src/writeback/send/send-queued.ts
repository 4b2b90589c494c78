/** Carries out what is queued, lanes side by side, until nothing more can be done. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError, type ApiFailure } from '../../core/api-failure.ts'
import type { ClaimableWriteback } from '../../core/outbox/repository.ts'
import type { WritebackStatus, StatusCounts } from '../../core/outbox/state.ts'
import type { Operation } from '../../core/outbox/writeback-request.ts'
import type { Ms } from '../../core/time.ts'
import { outcomesConsidered, type CircuitState, evaluateCircuits, closedCircuits, toClaimFilter, isBlocked } from './circuit-breaker.ts'
import type { WritebackDeps } from '../deps.ts'
import { workLane } from './lane.ts'
import { operationsWithoutScope } from './missing-scopes.ts'

export type SendQueuedOptions = {
  readonly maxConcurrentLanes: number
  /** Goes on although the last ones went wrong. */
  readonly despiteFailures: boolean
  readonly onProgress: (progress: SendProgress) => void
}

export type SendProgress = { readonly settled: number; readonly working: number }

export type SendQueuedResult = {
  /** By what they have become. */
  readonly settled: StatusCounts
  /** What ended it before its end: the service does not answer, or denies the key. */
  readonly stoppedBy: ApiFailure | null
  /** What the key lacks the scope for. */
  readonly denied: ReadonlyMap<Operation, ApiFailure>
  readonly circuits: CircuitState
}

/** So many lanes in a row that met with trouble mean that nobody answers. */
const maxFailuresInARow = 8

/** How often it looks for what became due, or was queued meanwhile. */
const pollMs: Ms = 250

/** Never throws CallFailed; anything thrown is a bug. */
export async function sendQueued(deps: WritebackDeps, options: SendQueuedOptions): Promise<SendQueuedResult> {
  const { outbox, signal, now } = deps
  const running = new Map<string, Promise<void>>()
  const reportProgress = () => options.onProgress({ settled: run.count(), working: running.size })
  const run = createRunState(reportProgress)
  let circuits = closedCircuits
  const mayGoOn = (next: ClaimableWriteback) => run.goesOn() && !signal.aborted && !isBlocked(circuits, run.lacking(), next)

  const startLane = (head: ClaimableWriteback) =>
    workLane(deps, head, { mayGoOn, onSettled: run.onSettled })
      .then(run.onTrouble, (error: unknown) => run.onError(head.operation, error))
      .finally(() => {
        running.delete(head.lane)
        reportProgress()
      })

  try {
    while (run.goesOn() && !signal.aborted) {
      if (!options.despiteFailures) circuits = evaluateCircuits(await outbox.listRecentOutcomes(outcomesConsidered), now())
      const filter = toClaimFilter(circuits, run.lacking())
      for (const head of await outbox.findClaimable(now(), options.maxConcurrentLanes * 2, filter)) {
        if (running.size < options.maxConcurrentLanes && !running.has(head.lane)) running.set(head.lane, startLane(head))
      }
      if (running.size === 0 && !(await outbox.hasPending(toClaimFilter(circuits, run.lacking())))) break
      await Promise.race([...running.values(), sleep(pollMs, undefined, { signal }).catch(() => {})])
    }
  } catch (error) {
    run.onBug(error)
  }
  // Those that are under way are seen to their end: cut off, nobody would know what became of them.
  await Promise.all(running.values())
  return { ...run.end(), circuits }
}

/** What has happened so far, and whether that lets it go on. */
function createRunState(onChange: () => void) {
  const settled: Partial<Record<WritebackStatus, number>> = {}
  const denied = new Map<Operation, ApiFailure>()
  let failuresInARow = 0
  let stoppedBy: ApiFailure | null = null
  let bug: { readonly error: unknown } | null = null
  const onBug = (error: unknown) => {
    bug ??= { error }
  }
  return {
    count: () => Object.values(settled).reduce((sum, count) => sum + count, 0),
    goesOn: () => stoppedBy === null && bug === null,
    lacking: () => [...denied.keys()],
    onSettled: (status: WritebackStatus) => {
      settled[status] = (settled[status] ?? 0) + 1
      failuresInARow = 0
      onChange()
    },
    onTrouble: (failure: ApiFailure | null) => {
      if (failure === null || failure.kind === 'throttled') return
      failuresInARow += 1
      if (failuresInARow >= maxFailuresInARow) stoppedBy ??= failure
    },
    onError: (operation: Operation, error: unknown) => {
      if (!(error instanceof ApiError)) return onBug(error)
      const unscoped = operationsWithoutScope(operation, error)
      for (const each of unscoped) denied.set(each, error.failure)
      if (unscoped.length === 0) stoppedBy ??= error.failure
    },
    onBug,
    end: () => {
      if (bug !== null) throw bug.error
      return { settled, stopped: stoppedBy, denied }
    },
  }
}
