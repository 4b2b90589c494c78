/** Where a budget's state is kept: anything that can change one value atomically, such as a variable or a locked row. */

import type { EpochMs, Ms } from '../../values/time.ts'
import { acquireSlot, type PendingRequest, type SlotDecision } from '../core/acquire-slot.ts'
import type { BudgetPolicy, BudgetState, BudgetView, PriorUsage, Slot, SlotEnding } from '../core/budget.ts'
import { initialBudgetState, recordPriorUsage, recordThrottle, releaseSlot } from '../core/budget.ts'
import { budgetView } from '../core/estimate.ts'

/** Decisions are made where the state is, by its clock; a process only waits as long as the decision says. */
export type BudgetStore = {
  /** Requests one slot for the process named `processId`; see `acquireSlot`. */
  readonly acquire: (processId: string, pending: readonly PendingRequest[]) => Promise<SlotDecision>
  readonly release: (slot: Slot, ending: SlotEnding) => Promise<void>
  /** The response to the slot's request was a 429. */
  readonly recordThrottle: (slot: Slot, waitMs: Ms) => Promise<void>
  readonly recordPriorUsage: (usage: PriorUsage) => Promise<void>
  readonly view: () => Promise<BudgetView>
}

type StateStep<T> = (state: BudgetState, now: EpochMs) => { readonly state: BudgetState; readonly result: T }

/** Runs one step on the state, atomically, and stores the state that it returns. `now` never decreases by itself. */
export type UpdateState = <T>(step: StateStep<T>) => Promise<T>

export function createStateStore(policy: BudgetPolicy, update: UpdateState): BudgetStore {
  const changeState = (to: (state: BudgetState, now: EpochMs) => BudgetState) =>
    update((state, now) => ({ state: to(state, now), result: undefined }))
  return {
    acquire: (processId, pending) =>
      update((before, now) => {
        const { state, decision } = acquireSlot(policy, before, now, processId, pending)
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
