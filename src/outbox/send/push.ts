/** Sends what is queued of a project, several lanes in parallel, until none can be sent. */

import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError, type ApiFailure, isBudgetUnavailable } from '../../service/core/api-failure.ts'
import type { SlotLimits } from '../../service/core/budget.ts'
import type { EarlyEnd } from '../../values/early-end.ts'
import type { ProjectName } from '../../values/project.ts'
import type { EpochMs, Ms } from '../../values/time.ts'
import type { CommandHint } from '../../values/user-error.ts'
import { countOperations, estimateBatchMs, type Rest, toRestReport } from '../core/batches.ts'
import { createOutcomeCounter, type ReasonGroup } from '../core/group-reasons.ts'
import { type Operation, operations } from '../core/operations.ts'
import type { ClaimableWriteback } from '../core/outbox-entry.ts'
import type { StatusCounts } from '../core/state.ts'
import type { WritebackDeps } from '../handlers/operation-handler.ts'
import {
  circuitNotices,
  closedCircuits,
  createScopeRefusals,
  evaluateCircuits,
  failingLaneNotices,
  missingScopeNotices,
  toClaimFilter,
  withoutProjectNotices,
} from './circuit-breaker.ts'
import { maxConcurrentLanes, sendLane } from './lane.ts'

/** `push`, one project. */
export type PushReport = {
  readonly project: ProjectName
  /** Write-backs that this process settled, by their new state. */
  readonly settled: StatusCounts
  /** How many of them succeeded although the service shows something else. */
  readonly contradicted: number
  /** The whole queue at the end, by state. */
  readonly queue: StatusCounts
  readonly tookMs: Ms
  readonly requests: number
  readonly outcome: 'done' | Exclude<EarlyEnd, 'more'>
  /** Stopped batches that have drafts. */
  readonly stopped: readonly { readonly batch: string; readonly drafts: number }[]
  /** Why some remain queued, in sentences for users. */
  readonly notices: readonly string[]
  /** Lanes that wait until a person resolves an uncertain write-back. */
  readonly blockedLanes: number
  /** Why write-backs that this process settled did not succeed, or what contradicts them. */
  readonly reasons: readonly ReasonGroup[]
}

const maxStopped = 20

/** `fatalFailure` ended it early: the service does not answer, or denies the key. */
export async function push(
  deps: WritebackDeps,
  {
    despiteFailures,
    limits,
    hint,
    onProgress,
  }: {
    /** Ignores the circuit breaker. */
    readonly despiteFailures: boolean
    readonly limits: SlotLimits
    readonly hint: CommandHint
    readonly onProgress: (progress: PushProgress) => void
  },
): Promise<
  { readonly fatalFailure: ApiFailure } | Omit<PushReport, 'project' | 'tookMs' | 'requests'>
> {
  const { outbox, signal } = deps
  const total = countOperations(await outbox.countByOperation({ statuses: ['queued', 'sending'] }))
  const result = await sendQueued(deps, {
    maxConcurrentLanes,
    despiteFailures,
    onProgress: (progress) => onProgress(toPushProgress(limits, total, progress, Date.now())),
  })
  const { fatalFailure, circuits, denied, failing, outcomes } = result
  if (fatalFailure !== null) return { fatalFailure }
  const queue = await outbox.countByStatus({})
  const stopped = await outbox.listStoppedBatches(maxStopped)
  const stop = await outbox.readSendingStop()
  const notices = [
    ...(stop === null
      ? []
      : [
          `all sending was stopped by ${stop.by}; go on with \`${hint('writeback resume --all')}\``,
        ]),
    ...circuitNotices(circuits, hint),
    ...missingScopeNotices(denied),
    ...failingLaneNotices(failing),
    ...withoutProjectNotices(await outbox.countWithoutProject()),
  ]
  return {
    settled: outcomes.counts,
    contradicted: outcomes.contradicted,
    reasons: outcomes.reasons,
    queue,
    stopped: stopped.flatMap(({ id, counts: { draft: drafts } }) =>
      drafts === undefined ? [] : [{ batch: id, drafts }],
    ),
    outcome: signal.aborted ? 'interrupted' : notices.length > 0 ? 'blocked' : 'done',
    notices,
    blockedLanes: queue.uncertain ?? 0,
  }
}

export type PushProgress = ReturnType<typeof toPushProgress>

/** `total`: as it was at the start. */
export function toPushProgress(
  limits: SlotLimits,
  total: Readonly<Partial<Record<Operation, number>>>,
  { settled, counts, operations: done, reasons, working, rest }: SendProgress,
  now: EpochMs,
) {
  const left = countOperations(
    operations.map((operation) => ({
      operation,
      count: Math.max(0, (total[operation] ?? 0) - (done[operation] ?? 0)),
    })),
  )
  const restMs = rest === null ? 0 : Math.max(0, rest.until - now)
  return {
    settled,
    counts,
    reasons,
    working,
    left: Object.values(left).reduce((sum, count) => sum + count, 0),
    /** With the reads of preconditions and what it waits for. */
    takesMs: estimateBatchMs(limits, left, 0) + restMs,
    ...toRestReport(rest),
  }
}

type SendProgress = ReturnType<ReturnType<typeof createOutcomeCounter>['snapshot']> & {
  /** Being sent or verified now. */
  readonly working: number
  /** Set while nothing can be sent, and something can be later. */
  readonly rest: Rest | null
}

/** After this many failed lanes in a row it is found out whether the service as a whole is out. */
const maxFailuresInARow = 8

/** A lane that failed this often is left for the next run if the service is not out. */
const maxFailuresOfLane = 5

/**
 * Never throws ApiError. `fatalFailure` stopped it early. `denied`: operations for which the key
 * lacks the scope. `failing`: lanes for which the service fails, and for no others.
 */
export async function sendQueued(
  deps: WritebackDeps,
  {
    maxConcurrentLanes,
    despiteFailures,
    onProgress,
    pollMs = 250,
  }: {
    readonly maxConcurrentLanes: number
    /** Ignores the circuit breaker. */
    readonly despiteFailures: boolean
    readonly onProgress: (progress: SendProgress) => void
    /** How often it looks for write-backs that became due or were queued. */
    readonly pollMs?: Ms
  },
) {
  const { outbox, signal, now } = deps
  const outcomes = createOutcomeCounter()
  const running = new Map<string, Promise<void>>()
  const scopes = createScopeRefusals()
  const failing = new Map<string, ApiFailure>()
  const failuresOf = new Map<string, number>()
  const bugs: unknown[] = []
  let circuits = closedCircuits
  let rest: Rest | null = null
  let failuresInARow = 0
  let fatalFailure = null as ApiFailure | null
  const canContinue = () => fatalFailure === null && bugs.length === 0 && !signal.aborted
  const claimFilter = () =>
    toClaimFilter(circuits, [...scopes.denied().keys()], [...failing.keys()])
  const reportProgress = () => onProgress({ ...outcomes.snapshot(), working: running.size, rest })

  /** One conversation that cannot be read is no outage, and holds up no other. */
  const recordFailure = async ({ lane, operation }: ClaimableWriteback, failure: ApiFailure) => {
    if (scopes.add(lane, operation, failure)) return void failing.set(lane, failure)
    const failures = (failuresOf.get(lane) ?? 0) + 1
    failuresOf.set(lane, failures)
    failuresInARow += 1
    if (failuresInARow < maxFailuresInARow && failures < maxFailuresOfLane) return
    if (isBudgetUnavailable(failure) || !(await deps.isProjectServed())) fatalFailure ??= failure
    else if (failures >= maxFailuresOfLane) failing.set(lane, failure)
    failuresInARow = 0
  }
  const workOnLane = async (head: ClaimableWriteback) => {
    try {
      const failure = await sendLane(deps, head, {
        claimFilter,
        canContinue,
        onSettled: (outcome, writeback) => {
          outcomes.add(outcome, writeback)
          if (outcome.status === 'succeeded') scopes.accept(writeback.operation)
          failuresInARow = 0
          failuresOf.delete(head.lane)
          reportProgress()
        },
      })
      if (failure !== null && failure.kind !== 'throttled') await recordFailure(head, failure)
    } catch (error) {
      if (!(error instanceof ApiError)) return bugs.push(error)
      fatalFailure ??= error.failure
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
      await Promise.race([
        ...running.values(),
        sleep(pollMs, undefined, { signal }).catch(() => {}),
      ])
    }
  } catch (error) {
    bugs.push(error)
  }
  // Sends in flight are finished; if aborted, their outcome would be unknown.
  await Promise.all(running.values())
  await outbox.recordFinishedBatches().catch((error: unknown) => bugs.push(error))
  if (bugs.length > 0) throw bugs[0]
  const denied = scopes.denied(1)
  const alone = [...failing].filter(([lane]) => !scopes.hasRefused(lane))
  return { outcomes: outcomes.snapshot(), fatalFailure, denied, failing: new Map(alone), circuits }
}
