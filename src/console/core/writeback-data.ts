/** What the pages about write-backs show. Times are RFC 3339 text; lists are bounded by those who read them. */
import type { BatchReport, BatchSummary, SelectionDigest } from '../../outbox/core/batches.ts'
import type { NamedEntry } from '../../outbox/core/outbox-entry.ts'
import type { ShowWritebackReport } from '../../outbox/core/reports.ts'
import type { ReviewOutcome } from '../../outbox/core/review.ts'
import type { CheckedReview, ReviewSummary } from '../../outbox/core/review-summary.ts'
import type { StatusCounts, WritebackStatus } from '../../outbox/core/state.ts'
import type { Operation } from '../../outbox/core/writeback-request.ts'
import type { ConversationData } from './data.ts'

export type WritebacksData = {
  readonly counts: StatusCounts
  readonly status: WritebackStatus | null
  /** Newest first; none while the rows of one status are shown. */
  readonly batches: readonly BatchSummary[]
  /** The batch after which older ones follow; null = these are all. */
  readonly olderBatches: string | null
  readonly rows: readonly NamedEntry[]
  /** Where the rows go on; null = these are all. */
  readonly next: string | null
}

/** What a row of a batch that has not left would do. `differs`: what the service showed instead. */
export type ReviewedRow = Pick<CheckedReview, 'position' | 'action' | 'outcome' | 'visitorName'> & {
  readonly id: string
  readonly lastWords: string | null
  readonly effect: string
  readonly differs: string | null
}

/** Of each outcome, so many rows as people look through. */
export type BatchReview = Pick<ReviewSummary, 'counts'> & {
  readonly groups: readonly { readonly outcome: ReviewOutcome; readonly text: string }[]
  /** Rows that were checked with the service. */
  readonly checked: number
  readonly differing: number
  readonly rows: readonly ReviewedRow[]
}

export type BatchData = {
  readonly report: BatchReport
  /** Until when an approval of rows of it can be taken back; null = it cannot. RFC 3339. */
  readonly undoUntil: string | null
  /** Null: it is still being read, or nothing of it waits. */
  readonly review: Omit<BatchReview, 'rows'> | null
  /** A page of the rows that have not left. `payload`: what they would send. */
  readonly reviewed: readonly (ReviewedRow & { readonly payload: NamedEntry['payload'] })[]
  /** Rows with one status, if it was asked for. */
  readonly entries: readonly NamedEntry[]
  readonly next: string | null
}

/** `conversation`: null = the mirror does not have it, or it is about a visitor. */
export type WritebackData = {
  readonly report: ShowWritebackReport
  /** Names it as it is shown. */
  readonly named: SelectionDigest
  /** Until when its approval can be taken back; null = it cannot. RFC 3339. */
  readonly undoUntil: string | null
  readonly conversation: ConversationData | null
}

/** What a decision is about. */
export type SelectionData = {
  /** The first ones. */
  readonly entries: readonly NamedEntry[]
  readonly named: SelectionDigest
  readonly operations: readonly { readonly operation: Operation; readonly count: number }[]
  readonly batch: BatchSummary | null
}
