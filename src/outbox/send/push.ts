/** Sends what is queued of a project until none can be sent, says how far it is, and reports. */

import type { ApiFailure } from '../../service/core/api-failure.ts'
import type { SlotLimits } from '../../service/core/budget.ts'
import type { ProjectName } from '../../values/project.ts'
import { type EpochMs, type Ms, toTimestamp } from '../../values/time.ts'
import type { CommandHint } from '../../values/user-error.ts'
import { countOperations, estimateBatchMs, type OperationCounts } from '../core/batches.ts'
import type { ReasonGroup } from '../core/group-reasons.ts'
import { operations } from '../core/operations.ts'
import type { StatusCounts } from '../core/state.ts'
import type { WritebackDeps } from '../handlers/operation-handler.ts'
import { circuitNotices, missingScopeNotices, withoutProjectNotices } from './circuit-breaker.ts'
import { maxConcurrentLanes } from './lane.ts'
import { type SendProgress, sendQueued } from './send-queued.ts'

type PushOptions = {
  /** Ignores the circuit breaker. */
  readonly despiteFailures: boolean
  readonly limits: SlotLimits
  readonly hint: CommandHint
  readonly onProgress: (progress: PushProgress) => void
  /** Rows in the warehouse without a project. */
  readonly countWithoutProject: () => Promise<number>
}

/** `push`, one project. */
export type PushReport = {
  readonly project: ProjectName
  /** Write-backs that this process settled, by their new state. */
  readonly settled: StatusCounts
  /** The whole queue at the end, by state. */
  readonly queue: StatusCounts
  readonly tookMs: Ms
  readonly requests: number
  readonly outcome: 'done' | 'held' | 'interrupted'
  /** Stopped batches that have drafts. */
  readonly stopped: readonly { readonly batch: string; readonly drafts: number }[]
  /** Why some remain queued: the circuit breaker, or a missing scope. Sentences for users. */
  readonly notices: readonly string[]
  /** Lanes that wait until a person resolves an uncertain write-back. */
  readonly heldLanes: number
  /** Why write-backs that this process settled did not succeed. */
  readonly reasons: readonly ReasonGroup[]
}

const maxStopped = 20

/** `fatalFailure` ended it early: the service does not answer, or denies the key. */
export async function push(
  deps: WritebackDeps,
  { despiteFailures, limits, hint, onProgress, countWithoutProject }: PushOptions,
): Promise<{ readonly fatalFailure: ApiFailure } | Omit<PushReport, 'project' | 'tookMs' | 'requests'>> {
  const { outbox, signal } = deps
  const total = countOperations(await outbox.countByOperation({ statuses: ['queued', 'sending'] }))
  const result = await sendQueued(deps, {
    ...{ maxConcurrentLanes, despiteFailures },
    onProgress: (progress) => onProgress(toPushProgress(limits, total, progress, Date.now())),
  })
  const { fatalFailure, circuits, denied, outcomes } = result
  if (fatalFailure !== null) return { fatalFailure }
  const queue = await outbox.countByStatus({})
  const stopped = await outbox.listStoppedBatches(maxStopped)
  const stop = await outbox.readSendingStop()
  const notices = [
    ...(stop === null
      ? []
      : [`all sending was stopped by ${stop.by}; go on with \`${hint('writeback resume --all')}\``]),
    ...circuitNotices(circuits, hint),
    ...missingScopeNotices(denied),
    ...withoutProjectNotices(await countWithoutProject()),
  ]
  return {
    settled: outcomes.counts,
    reasons: outcomes.reasons,
    queue,
    stopped: stopped.flatMap(({ id, counts: { draft: drafts } }) =>
      drafts === undefined ? [] : [{ batch: id, drafts }],
    ),
    outcome: signal.aborted ? 'interrupted' : notices.length > 0 ? 'held' : 'done',
    notices,
    heldLanes: queue.uncertain ?? 0,
  }
}

export type PushProgress = ReturnType<typeof toPushProgress>

/** `total`: as it was at the start. */
export function toPushProgress(
  limits: SlotLimits,
  total: OperationCounts,
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
    ...{ settled, counts, reasons, working },
    left: Object.values(left).reduce((sum, count) => sum + count, 0),
    /** With the reads of preconditions and what it waits for. */
    takesMs: estimateBatchMs(limits, left, 0) + restMs,
    /** RFC 3339; null if something can be sent now. */
    restsUntil: rest === null ? null : toTimestamp(rest.until),
    restsBecause: rest?.because ?? null,
  }
}
