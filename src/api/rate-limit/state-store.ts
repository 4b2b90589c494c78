/** A budget store on anything that can change one value atomically: a variable, a locked row. */
import { acquireSlot } from '../../core/rate-limit/acquire-slot.ts'
import {
  type BudgetPolicy,
  type BudgetState,
  initialBudgetState,
  recordPriorUsage,
  recordThrottle,
  releaseSlot,
} from '../../core/rate-limit/budget.ts'
import type { BudgetStore } from '../../core/rate-limit/budget-store.ts'
import { budgetView } from '../../core/rate-limit/estimate.ts'
import type { EpochMs } from '../../core/time.ts'

type StateStep<T> = (state: BudgetState, now: EpochMs) => { readonly state: BudgetState; readonly result: T }

/** Runs one step on the state, atomically, and stores the state that it returns. `now` never decreases by itself. */
export type UpdateState = <T>(step: StateStep<T>) => Promise<T>

export function createStateStore(policy: BudgetPolicy, update: UpdateState): BudgetStore {
  const changeState = (to: (state: BudgetState, now: EpochMs) => BudgetState) =>
    update((state, now) => ({ state: to(state, now), result: undefined }))
  return {
    acquire: (holder, pending) =>
      update((before, now) => {
        const { state, decision } = acquireSlot(policy, before, now, holder, pending)
        return { state, result: decision }
      }),
    release: (slot, ending) => changeState((state, now) => releaseSlot(policy, state, now, slot, ending)),
    recordThrottle: (slot, waitMs) => changeState((state, now) => recordThrottle(policy, state, now, slot, waitMs)),
    recordPriorUsage: (usage) => changeState((state, now) => recordPriorUsage(policy, state, now, usage)),
    view: () => update((state, now) => ({ state, result: budgetView(policy, state, now) })),
  }
}

/** The budget of a key that only this process uses. `now`: milliseconds of a monotonic clock. */
export function createMemoryStore(policy: BudgetPolicy, now: () => EpochMs = () => performance.now()): BudgetStore {
  let current = initialBudgetState
  return createStateStore(policy, async (step) => {
    const { state, result } = step(current, now())
    current = state
    return result
  })
}
