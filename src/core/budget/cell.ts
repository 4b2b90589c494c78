/**
 * Where a shared budget is kept: one text somewhere that several processes can read and compare-and-swap, with the clock
 * of whoever keeps it. All decisions stay in the budget; a cell knows nothing of them.
 */
import type { EpochMs, Ms } from '../time.ts'

/** What lies in the cell, and the keeper's clock at that moment. */
export type Reading = {
  readonly now: EpochMs
  /** Another one with every write; null: nothing is there. */
  readonly version: string | null
  readonly text: string | null
  /** The keeper was restarted since this was written, in a way that may have cost it later writes. */
  readonly restarted: boolean
}

export type Swap = { readonly swapped: boolean; readonly reading: Reading }

/** Both reject where the keeper is out of reach; then the swap may or may not have been done. */
export type BudgetCell = {
  readonly read: () => Promise<Reading>
  /**
   * Writes if nothing was written since `seen`, and by the keeper's clock no more than `swapWithinMs` have passed: a
   * process that was stopped in between must not commit an old decision. `reading`: what lies there afterwards.
   */
  readonly swap: (seen: Reading, text: string) => Promise<Swap>
}

export const swapWithinMs: Ms = 1000
