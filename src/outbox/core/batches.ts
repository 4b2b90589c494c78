/** Write-backs that were queued together, and what people see of them and decide as a whole. */
import { estimateMs, estimateSendsMs, type SlotLimits } from '../../service/core/budget.ts'
import type { ProjectName } from '../../values/project.ts'
import { type EpochMs, type Ms, toTimestamp } from '../../values/time.ts'
import type { SelectionDigest } from './decision-terms.ts'
import type { ReasonGroup } from './group-reasons.ts'
import { type Operation, operationTypes } from './operations.ts'
import type { NamedEntry } from './outbox-entry.ts'
import type { StatusCounts, WritebackStatus } from './state.ts'

/** What a person says about a batch when it is queued. */
export type BatchDescription = {
  readonly title: string | null
  /** Where its rows come from: a file's name, a revert, a query. */
  readonly source: string | null
  readonly note: string | null
  /** The id of the batch that it takes back. */
  readonly reverts: string | null
}

/** The column that a person says it is, by the key of a header cell; `ignored`: none. */
export type ColumnMap = Readonly<Record<string, string>>

/** A batch as stored. Times are RFC 3339. */
export type Batch = BatchDescription & {
  /** Its name: `batch_id` of its write-backs. */
  readonly id: string
  readonly rows: number
  readonly createdAt: string
  readonly createdBy: string | null
  /** The last approval of rows of it. */
  readonly approvedAt: string | null
  readonly approvedBy: string | null
  readonly stoppedAt: string | null
  readonly stoppedBy: string | null
  /** When its last write-back was settled; null while one is open. */
  readonly finishedAt: string | null
}

/** One word for the whole batch; `done` if nothing of it is left to send or to decide. */
export type BatchState = 'draft' | 'stopped' | 'sending' | 'uncertain' | 'done'

export type BatchSummary = Batch & { readonly state: BatchState; readonly counts: StatusCounts }

/** During the grace, and without a worker, nothing leaves: it is queued, and not being sent. */
export function shownState({
  state,
  counts: { draft, queued, cancelled, expired, ...left },
}: Pick<BatchSummary, 'state' | 'counts'>): BatchState | 'queued' {
  const hasLeft = Object.values(left).some((count) => count > 0)
  return state === 'sending' && !hasLeft ? 'queued' : state
}

export type BatchEstimate = SendEstimate & {
  readonly left: number
  /** Nothing of it leaves before this time (RFC 3339); null if it need not wait. */
  readonly restsUntil: string | null
  readonly restsBecause: string | null
}

export type BatchesReport = {
  readonly project: ProjectName
  /** Newest first. */
  readonly batches: readonly (BatchSummary & { readonly estimate: BatchEstimate })[]
  /** Whether there are older ones. */
  readonly more: boolean
}

/** Write-backs of one operation with one status, and some of them. */
export type BatchOutcome = {
  readonly operation: Operation
  readonly status: WritebackStatus
  readonly count: number
  readonly samples: readonly NamedEntry[]
}

export type BatchReport = {
  readonly project: ProjectName
  readonly batch: BatchSummary
  readonly outcomes: readonly BatchOutcome[]
  /** Most frequent first; of what has failed or ended undone, and of what rests. */
  readonly reasons: readonly ReasonGroup[]
  readonly estimate: BatchEstimate
  /** Names the drafts as they are now, for `approve`; null if none can be approved. */
  readonly approval: SelectionDigest | null
  /** The batch that takes this one back. */
  readonly revertedBy: string | null
  /** Rows that arrived, can be taken back and are not yet. */
  readonly revertible: number
}

/** Why a write-back of a batch is not taken back. */
export type NotReverted = {
  readonly id: string
  readonly operation: Operation
  readonly target: string
  /**
   * `cannot`: a reply or a note; `stands_against`: changed by someone since; `not_known`:
   * uncertain, in flight, or nothing stored of before; `already_so`: as it was before.
   */
  readonly outcome: 'cannot' | 'stands_against' | 'not_known' | 'already_so'
  readonly why: string
}

export type RevertReport = {
  readonly project: ProjectName
  readonly reverts: string
  /** The draft batch; null if nothing can be taken back. */
  readonly batch: string | null
  readonly queued: number
  /** By outcome, with all rows counted. */
  readonly counts: Readonly<Partial<Record<NotReverted['outcome'], number>>>
  /** The first thousand. `visitorName`: null if the mirror does not know it. */
  readonly notReverted: readonly (NotReverted & { readonly visitorName: string | null })[]
  /** What is wrong around it: the clock of this machine. */
  readonly notices?: readonly string[]
}

/**
 * `now`: of the database. `pausedUntil`: the service asked to wait; null: it did not. `whyStopped`:
 * who stopped all sending, in a sentence; null: nobody.
 */
export type Pace = {
  readonly limits: SlotLimits
  readonly worker: boolean
  readonly now: EpochMs
  readonly pausedUntil: EpochMs | null
  readonly whyStopped: string | null
}

export type SendEstimate = {
  /** A worker is running, which sends them. */
  readonly worker: boolean
  /** Who stopped all sending, in a sentence; null: nobody. */
  readonly whyStopped: string | null
  /** Write-backs queued earlier that are not settled yet. */
  readonly queuedEarlier: number
  /** For all up to these, at the write rate less its reserve, after a pause. */
  readonly takesMs: Ms
}

/** `queuedEarlier`: write-backs queued earlier. `rows`: those queued after them. */
export function estimateSends(pace: Pace, queuedEarlier: number, rows: number): SendEstimate {
  const takesMs = estimateMs(pace.limits.writes, queuedEarlier + rows)
  const pauseMs = takesMs === 0 || pace.pausedUntil === null ? 0 : pace.pausedUntil - pace.now
  return {
    queuedEarlier,
    takesMs: takesMs + pauseMs,
    worker: pace.worker,
    whyStopped: pace.whyStopped,
  }
}

/** Why nothing is sent after a 429. */
export const pauseReason = 'the service asked to wait (429)'

export function needsApproval(
  rows: number,
  { approveOver, draft = false }: { readonly approveOver: number | null; readonly draft?: boolean },
): boolean {
  return draft || (approveOver !== null && rows > approveOver)
}

export function countOperations(
  counted: Iterable<{ readonly operation: Operation; readonly count: number }>,
) {
  const counts: Partial<Record<Operation, number>> = {}
  for (const { operation, count } of counted) counts[operation] = (counts[operation] ?? 0) + count
  return counts
}

/** `queuedEarlier`: write-backs of unknown operations that are sent before. */
export function estimateBatchMs(
  limits: SlotLimits,
  left: Readonly<Partial<Record<Operation, number>>>,
  queuedEarlier: number,
): Ms {
  const entries = Object.entries(left) as [Operation, number][]
  const writes = entries.reduce((sum, [, count]) => sum + count, 0)
  const reads = entries.reduce(
    (sum, [operation, count]) => sum + count * operationTypes[operation].readsPerSend,
    0,
  )
  const readsEach = writes === 0 ? operationTypes.message.readsPerSend : reads / writes
  return estimateSendsMs(
    limits,
    writes + queuedEarlier,
    reads + Math.ceil(queuedEarlier * readsEach),
  )
}

/** Why nothing is sent, and when it is tried again. */
export type Rest = { readonly until: EpochMs; readonly why: string }

export function toRestReport(rest: Rest | null) {
  return {
    /** Nothing leaves before this time (RFC 3339); null if something can. */
    restsUntil: rest === null ? null : toTimestamp(rest.until),
    restsBecause: rest?.why ?? null,
  }
}

/** The longest of the rests that have not ended. */
export function longestRest(rests: readonly (Rest | null)[], now: EpochMs): Rest | null {
  const open = rests.filter((rest) => rest !== null).filter(({ until }) => until > now)
  return open.toSorted((a, b) => b.until - a.until)[0] ?? null
}
