/** What a budget reports: how much of it is in use, and how long a number of writes will take. Pure. */

import type { EpochMs, Ms } from '../../values/time.ts'
import type { BudgetView } from './budget.ts'
import {
  advanceTo,
  type BudgetPolicy,
  type BudgetState,
  initialBudgetState,
  type Margins,
  type SlotLimits,
  slotLimits,
} from './budget.ts'

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
