/** Requests over time, and when none could be sent. */
import type { EpochMs, Ms } from '../../values/time.ts'
import type { Priority } from './priority.ts'

/** `limit`: requests that the key allows in a minute; null = not known here. */
export type BudgetData = {
  readonly limit: number | null
  readonly from: EpochMs
  readonly to: EpochMs
  /** Length of one bar. */
  readonly stepMs: Ms
  readonly bars: readonly BudgetBar[]
  readonly pauses: readonly BudgetPause[]
}

export type BudgetBar = {
  readonly at: EpochMs
  readonly requests: Readonly<Partial<Record<Priority, number>>>
  readonly throttled: number
}

export type BudgetPause = { readonly kind: 'throttled' | 'closed'; readonly from: EpochMs; readonly to: EpochMs }
