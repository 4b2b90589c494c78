/**
 * What a budget does when the record of what was sent may have been lost: it closes, for everybody who shares it. Pure.
 *
 * Closed for one window alone would be too short. A request that was under way when the record was lost is counted by the
 * service up to its deadline later, and if its process died, or no answer came, nobody will ever enter it again. So it is
 * as if every slot had been taken at this moment and none were ever answered: they are free again one window after their
 * deadline. Whatever the lost record held was granted before and free by then, so nothing of it needs to be kept.
 */

import type { EpochMs, Ms } from '../time.ts'
import { type BudgetPolicy, type BudgetState, initialBudgetState, shiftClock } from './budget.ts'
import { emptyCapacity } from './capacity.ts'

/** `before`: the newest state that is known. A pause and the lost trust of a 429 last as long as they would have from then. */
export function closeBudget(policy: BudgetPolicy, before: BudgetState, clock: EpochMs, deadlineMs: Ms): BudgetState {
  const windowMs = Math.max(policy.rate.windowMs, policy.writeRate.windowMs)
  return {
    ...shiftClock(before, clock - before.at),
    all: emptyCapacity,
    writes: emptyCapacity,
    waiters: [],
    closedUntil: clock + deadlineMs + windowMs,
    era: nextEra(before, clock),
  }
}

/** The first state of a budget that nobody has used for so long that nothing of it can matter. */
export function startBudget(before: BudgetState, clock: EpochMs): BudgetState {
  return { ...initialBudgetState, at: clock, era: nextEra(before, clock) }
}

/** By the clock, so that whoever begins anew without knowing the eras before comes after them. */
function nextEra(before: BudgetState, clock: EpochMs): number {
  return Math.max(before.era + 1, Math.floor(clock))
}

/** What a process knows from its last look: the state, the keeper's clock then, and how long ago that is by its own clock. */
export type LastObservation = { readonly state: BudgetState; readonly now: EpochMs; readonly agoMs: Ms }

/** What lies there now. `restarted`: its keeper was, since this was written, and may have forgotten what came after. */
export type ObservedRecord = { readonly state: BudgetState; readonly now: EpochMs; readonly restarted: boolean }

/** Clocks that are this far apart agree: a step of a time daemon, a slow answer. */
export const clockToleranceMs: Ms = 1000
/** Two clocks that both run freely part by less than this share. */
const maxClockDrift = 1 / 1000

/**
 * Why what lies there cannot be believed, in words for a person; null: it can. A newer era means that somebody has closed
 * since our last look, for whatever we would find now.
 */
export function distrustReason(observed: ObservedRecord, last: LastObservation | null): string | null {
  const { state, now, restarted } = observed
  if (restarted) return 'its store was restarted and may have forgotten the last requests'
  if (now < state.at - clockToleranceMs) return `the clock of its store was set back by ${formatSeconds(state.at - now)}`
  if (last === null || state.era > last.state.era) return null
  if (state.era < last.state.era || state.at < last.state.at)
    return 'its store holds an older state than the last one seen: a restored copy, or lost writes'
  const aheadMs = now - last.now - last.agoMs
  if (aheadMs > clockToleranceMs + maxClockDrift * last.agoMs) return `the clock of its store was set forward by ${formatSeconds(aheadMs)}`
  return null
}

function formatSeconds(ms: Ms): string {
  return `${(ms / 1000).toFixed(1)} s`
}
