/** What a budget reports: how much of it is in use, and how long a number of writes will take. Pure. */
import type { EpochMs, Ms } from '../../values/time.ts'
import type { Priority } from './api-request.ts'
import {
  advanceTo,
  type BudgetState,
  type BudgetView,
  initialBudgetState,
  type SlotLimits,
  slotLimits,
} from './budget.ts'
import type { BudgetPolicy, Margins } from './margin.ts'

export function budgetView(policy: BudgetPolicy, before: BudgetState, clock: EpochMs): BudgetView {
  const state = advanceTo(before, clock)
  return {
    limit: policy.rate.requests,
    windowMs: policy.rate.windowMs,
    slots: slotLimits(policy, state, state.at).all.slots,
    inUse: state.all.taken.total,
    pausedForMs: state.pausedUntil > state.at ? state.pausedUntil - state.at : null,
    closedForMs: state.closedUntil > state.at ? state.closedUntil - state.at : null,
    throttled: state.throttled,
  }
}

/** The slots of a budget while nothing reduces them, for estimates. */
export function steadyLimits(policy: BudgetPolicy, margins: Margins): SlotLimits {
  return slotLimits(policy, { ...initialBudgetState, margins }, 0)
}

/** Milliseconds that `requests` take at an even pace, if no other process sends any and the service throttles nothing. */
export function estimateRequestsMs({ all }: Pick<SlotLimits, 'all'>, requests: number): Ms {
  return Math.ceil((requests * all.windowMs) / all.slots)
}

/** The same for writes. */
export function estimateWritesMs({ writes: limit }: Pick<SlotLimits, 'writes'>, writes: number): Ms {
  return estimateRequestsMs({ all: limit }, writes)
}

/** The same for sends that also read before and after: the slower of the two rates decides. */
export function estimateSendsMs(limits: SlotLimits, writes: number, reads: number): Ms {
  return Math.max(estimateWritesMs(limits, writes), estimateRequestsMs(limits, writes + reads))
}

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
