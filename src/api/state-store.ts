/** A budget store over anything that can change one value atomically: a variable, a locked row. */
import {
  type Ask,
  type BudgetPolicy,
  type BudgetState,
  type Ending,
  freshBudget,
  type Lease,
  type Spent,
  seed,
  settle,
  take,
  throttle,
} from '../core/budget/budget.ts'
import { forecast, view } from '../core/budget/outlook.ts'
import type { BudgetStore } from '../core/budget/store.ts'
import type { EpochMs, Ms } from '../core/time.ts'

type Step<T> = (state: BudgetState, now: EpochMs) => { readonly state: BudgetState; readonly result: T }

/** Runs one step on the state, alone, and keeps the state that it returns. `now` never runs backwards by itself. */
export type Update = <T>(step: Step<T>) => Promise<T>

export function createStateStore(policy: BudgetPolicy, update: Update): BudgetStore {
  const change = (to: (state: BudgetState, now: EpochMs) => BudgetState) =>
    update((state, now) => ({ state: to(state, now), result: undefined }))
  const look = <T>(at: (state: BudgetState, now: EpochMs) => T) =>
    update((state, now) => ({ state, result: at(state, now) }))
  return {
    take: (holder: string, asks: readonly Ask[]) =>
      update((before, now) => {
        const { state, decision } = take(policy, before, now, holder, asks)
        return { state, result: decision }
      }),
    settle: (lease: Lease, ending: Ending) => change((state, now) => settle(policy, state, now, lease, ending)),
    throttle: (lease: Lease, waitMs: Ms) => change((state, now) => throttle(policy, state, now, lease, waitMs)),
    seed: (spent: Spent) => change((state, now) => seed(policy, state, now, spent)),
    view: () => look((state, now) => view(policy, state, now)),
    forecast: (requests: number) => look((state, now) => forecast(policy, state, now, requests)),
  }
}

/** The budget of a key that only this process uses. `now` must not jump: milliseconds of a monotonic clock. */
export function createMemoryStore(policy: BudgetPolicy, now: () => EpochMs = () => performance.now()): BudgetStore {
  let current = freshBudget
  return createStateStore(policy, async (step) => {
    const { state, result } = step(current, now())
    current = state
    return result
  })
}
