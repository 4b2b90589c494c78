/** What a budget reports: how much of it is in use, and how long a number of writes will take. Pure. */
import type { BudgetView } from '../command-reports.ts'
import type { EpochMs, Ms } from '../time.ts'
import { advanceTo, type BudgetPolicy, type BudgetState, initialBudgetState, slotLimits } from './budget.ts'

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

/** Milliseconds that `writes` take at an even pace, if no other process writes and the service throttles nothing. */
export function estimateWritesMs(policy: BudgetPolicy, writes: number): Ms {
  const { slots, windowMs } = slotLimits(policy, initialBudgetState, 0).writes
  return Math.ceil((writes * windowMs) / slots)
}

/** The same for sends that also read before and after: the slower of the two rates decides. */
export function estimateSendsMs(policy: BudgetPolicy, writes: number, reads: number): Ms {
  const { all } = slotLimits(policy, initialBudgetState, 0)
  return Math.max(estimateWritesMs(policy, writes), Math.ceil(((writes + reads) * all.windowMs) / all.slots))
}
