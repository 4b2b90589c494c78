/** What a review reads from the warehouse, a chunk of rows at a time, and the results of checks that it stores there. */

import type { Writeback } from './repository.ts'
import type { ReviewRow, TargetState, WritebackReview } from './review.ts'
import type { GuardFacts } from './review-guards.ts'
import type { RowAhead } from './review-lane.ts'

/** A row of a batch. */
export type QueuedRow = {
  readonly seq: number
  readonly epoch: number
  readonly writeback: Writeback
}

/** What a check with the service found; void once the row's epoch has changed. */
export type StoredCheck = Pick<WritebackReview, 'outcome' | 'reason' | 'why' | 'changes'> & {
  readonly id: string
  readonly epoch: number
  /** RFC 3339. */
  readonly checkedAt: string
}

export type ReviewReader = {
  /** One for each row, in their order, from the mirror as it is now. */
  readonly readFacts: (rows: readonly ReviewRow[]) => Promise<readonly GuardFacts[]>
  /** One for each target, in their order; null if the mirror does not have it. */
  readonly readTargets: (
    targets: readonly Pick<ReviewRow, 'operation' | 'target'>[],
  ) => Promise<readonly (TargetState | null)[]>
  /** Of these lanes, in queue order. `batch`: its open rows are left out; null: none are. */
  readonly readAhead: (lanes: readonly string[], batch: string | null) => Promise<readonly RowAhead[]>
  /** All rows of the batch, whatever their status, in queue order. */
  readonly listBatch: (batch: string, afterSeq: number, limit: number) => Promise<readonly QueuedRow[]>
  /** Those that are not void. */
  readonly readChecks: (ids: readonly string[]) => Promise<readonly StoredCheck[]>
  /** Replaces earlier results. */
  readonly storeChecks: (checks: readonly StoredCheck[]) => Promise<void>
}
