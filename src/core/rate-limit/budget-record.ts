/**
 * Where a shared budget is kept: one text somewhere that several processes can read and compare-and-swap, with the clock
 * of whoever keeps it. All decisions stay in the budget; a cell knows nothing of them.
 */
import type { EpochMs, Ms } from '../time.ts'

/** What lies in the cell, and the keeper's clock at that moment. */
export type RecordReading = {
  readonly now: EpochMs
  /** Another one with every write; null: nothing is there. */
  readonly version: string | null
  readonly text: string | null
  /** The keeper was restarted since this was written, in a way that may have cost it later writes. */
  readonly restarted: boolean
}

export type SwapResult = { readonly swapped: boolean; readonly reading: RecordReading }

/** Both reject where the keeper is out of reach; then the swap may or may not have been done. */
export type BudgetRecord = {
  readonly read: () => Promise<RecordReading>
  /**
   * Writes if nothing was written since `seen`, and by the keeper's clock no more than `swapWithinMs` have passed: a
   * process that was stopped in between must not commit an old decision. `reading`: what lies there afterwards.
   */
  readonly compareAndSet: (seen: RecordReading, text: string) => Promise<SwapResult>
}

export const maxSwapDelayMs: Ms = 1000
