/** What a budget says about itself: how much of it is in use, and how long so many requests will take. Pure. */

import type { BudgetView } from '../report.ts'
import type { EpochMs, Ms } from '../time.ts'
import { allowances, type BudgetPolicy, type BudgetState, freshBudget, moveTo } from './budget.ts'
import { untilNextFree } from './leases.ts'
import { burst } from './pool.ts'

export function view(policy: BudgetPolicy, before: BudgetState, clock: EpochMs): BudgetView {
  const state = moveTo(before, clock)
  return {
    limit: policy.rate.requests,
    windowMs: policy.rate.windowMs,
    slots: allowances(policy, state, state.at).all.slots,
    inUse: state.all.leases.total,
    pausedForMs: state.pausedUntil > state.at ? state.pausedUntil - state.at : null,
    closedForMs: state.closedUntil > state.at ? state.closedUntil - state.at : null,
    throttled: state.throttled,
  }
}

/** Milliseconds until so many more requests may have been sent, if nobody else asks: pause, burst, spread, even pace. */
export function forecast(policy: BudgetPolicy, before: BudgetState, clock: EpochMs, requests: number): Ms {
  const state = moveTo(before, clock)
  const { slots, windowMs } = allowances(policy, state, state.at).all
  const taken = state.all.leases.total
  const free = Math.max(0, slots - taken)
  const atOnce = Math.max(0, burst(slots) - taken)
  const even = windowMs / slots
  const untilFree = taken === 0 ? windowMs : untilNextFree(state.all.leases, state.at)
  const pause = Math.max(0, state.pausedUntil - state.at, state.closedUntil - state.at)
  if (requests <= atOnce) return pause
  const spread = Math.max(even, untilFree / Math.max(1, free - atOnce))
  const fromFree = Math.max(0, Math.min(requests, free) - atOnce)
  return pause + Math.max(fromFree * spread, requests > free ? untilFree : 0) + Math.max(0, requests - free) * even
}

/** Milliseconds that so many writes last at an even pace, where nobody else writes and the service pauses nobody. */
export function writesLast(policy: BudgetPolicy, writes: number): Ms {
  const { slots, windowMs } = allowances(policy, freshBudget, 0).writes
  return Math.ceil((writes * windowMs) / slots)
}
