/** What a budget reports: how much of it is in use, and how long a number of requests will take. Pure. */
import type { BudgetView } from '../command-reports.ts'
import type { EpochMs, Ms } from '../time.ts'
import { advanceTo, type BudgetPolicy, type BudgetState, initialBudgetState, slotLimits } from './budget.ts'
import { burstSlots } from './slot-usage.ts'
import { msUntilNextFree } from './slots.ts'

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

/** Milliseconds until `requests` more can have been sent, if no other process sends: pause, burst, spread, even pace. */
export function estimateSendMs(policy: BudgetPolicy, before: BudgetState, clock: EpochMs, requests: number): Ms {
  const state = advanceTo(before, clock)
  const { slots, windowMs } = slotLimits(policy, state, state.at).all
  const taken = state.all.taken.total
  const free = Math.max(0, slots - taken)
  const burstLeft = Math.max(0, burstSlots(slots) - taken)
  const evenPaceMs = windowMs / slots
  const untilFreeMs = taken === 0 ? windowMs : msUntilNextFree(state.all.taken, state.at)
  const pauseMs = Math.max(0, state.pausedUntil - state.at, state.closedUntil - state.at)
  if (requests <= burstLeft) return pauseMs
  const spreadPaceMs = Math.max(evenPaceMs, untilFreeMs / Math.max(1, free - burstLeft))
  const spreadRequests = Math.max(0, Math.min(requests, free) - burstLeft)
  return (
    pauseMs +
    Math.max(spreadRequests * spreadPaceMs, requests > free ? untilFreeMs : 0) +
    Math.max(0, requests - free) * evenPaceMs
  )
}

/** Milliseconds that `writes` take at an even pace, if no other process writes and the service throttles nothing. */
export function estimateWritesMs(policy: BudgetPolicy, writes: number): Ms {
  const { slots, windowMs } = slotLimits(policy, initialBudgetState, 0).writes
  return Math.ceil((writes * windowMs) / slots)
}
