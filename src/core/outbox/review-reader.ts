/** What a review reads from the warehouse, a chunk of rows at a time, and the results of checks that it stores there. */

import type { CheckedRow } from './deviation.ts'
import type { Writeback } from './repository.ts'
import type { ReviewRow, TargetState } from './review.ts'
import type { ReadCheck, StoredCheck } from './review-check.ts'
import type { GuardFacts } from './review-guards.ts'
import type { RowAhead } from './review-lane.ts'

/** A row of a batch. */
export type QueuedRow = {
  readonly seq: number
  readonly epoch: number
  readonly writeback: Writeback
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
  /** The last one of each row that was checked. */
  readonly readChecks: (ids: readonly string[]) => Promise<readonly ReadCheck[]>
  /** Of the batch, the checked rows that were sent or refused, in queue order. */
  readonly listChecked: (batch: string, afterSeq: number, limit: number) => Promise<readonly CheckedRow[]>
  /** Replaces earlier results. */
  readonly storeChecks: (checks: readonly StoredCheck[]) => Promise<void>
}
