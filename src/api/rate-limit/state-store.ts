/** A budget store over anything that can change one value atomically: a variable, a locked row. */
import {
  type PendingRequest,
  type BudgetPolicy,
  type BudgetState,
  type SlotEnding,
  initialBudgetState,
  type Slot,
  type PriorUsage,
  recordPriorUsage,
  releaseSlot,
  acquireSlot,
  recordThrottle,
} from '../../core/rate-limit/budget.ts'
import { estimateSendMs, budgetView } from '../../core/rate-limit/estimate.ts'
import type { BudgetStore } from '../../core/rate-limit/budget-store.ts'
import type { EpochMs, Ms } from '../../core/time.ts'

type StateStep<T> = (state: BudgetState, now: EpochMs) => { readonly state: BudgetState; readonly result: T }

/** Runs one step on the state, alone, and keeps the state that it returns. `now` never runs backwards by itself. */
export type UpdateState = <T>(step: StateStep<T>) => Promise<T>

export function createStateStore(policy: BudgetPolicy, update: UpdateState): BudgetStore {
  const changeState = (to: (state: BudgetState, now: EpochMs) => BudgetState) =>
    update((state, now) => ({ state: to(state, now), result: undefined }))
  const readState = <T>(at: (state: BudgetState, now: EpochMs) => T) =>
    update((state, now) => ({ state, result: at(state, now) }))
  return {
    acquire: (holder: string, pending: readonly PendingRequest[]) =>
      update((before, now) => {
        const { state, decision } = acquireSlot(policy, before, now, holder, pending)
        return { state, result: decision }
      }),
    release: (slot: Slot, ending: SlotEnding) => changeState((state, now) => releaseSlot(policy, state, now, slot, ending)),
    recordThrottle: (slot: Slot, waitMs: Ms) => changeState((state, now) => recordThrottle(policy, state, now, slot, waitMs)),
    recordPriorUsage: (usage: PriorUsage) => changeState((state, now) => recordPriorUsage(policy, state, now, usage)),
    view: () => readState((state, now) => budgetView(policy, state, now)),
    estimateSendMs: (requests: number) => readState((state, now) => estimateSendMs(policy, state, now, requests)),
  }
}

/** The budget of a key that only this process uses. `now` must not jump: milliseconds of a monotonic clock. */
export function createMemoryStore(policy: BudgetPolicy, now: () => EpochMs = () => performance.now()): BudgetStore {
  let current = initialBudgetState
  return createStateStore(policy, async (step) => {
    const { state, result } = step(current, now())
    current = state
    return result
  })
}
