/**
 * Where a shared budget is stored: one text that several processes can read and compare-and-set, with the clock of the
 * store. The store makes no decisions; the budget does.
 */
import type { EpochMs, Ms } from '../../values/time.ts'

/** What the record holds, and the store's clock when it was read. */
export type RecordReading = {
  readonly now: EpochMs
  /** Changes with every write; null: there is no record. */
  readonly version: string | null
  readonly text: string | null
  /** The store restarted after this was written, and may have lost later writes. */
  readonly restarted: boolean
}

type SwapResult = { readonly swapped: boolean; readonly reading: RecordReading }

/** Both functions reject if the store cannot be reached; then the swap may or may not have been done. */
export type BudgetRecord = {
  readonly read: () => Promise<RecordReading>
  /**
   * Writes if nothing was written since `seen`, and if no more than `maxSwapDelayMs` have passed by the store's clock: a
   * process that was suspended in between must not commit an old decision. `reading`: what the record holds afterwards.
   */
  readonly compareAndSet: (seen: RecordReading, text: string) => Promise<SwapResult>
}

export const maxSwapDelayMs: Ms = 1000

/** Remembers, apart from the budget, that a key was used: so a process that finds no record knows whether one was lost. */
export type KeyUse = {
  /** Whether no process recorded a use within this time. */
  readonly isUnusedFor: (withinMs: Ms) => Promise<boolean>
  /** The key is about to be used. */
  readonly recordUse: () => Promise<void>
}

/** A process that keeps using the key records it no more often, so a use may be this much younger than its record. */
export const recordUseEveryMs: Ms = 30_000
