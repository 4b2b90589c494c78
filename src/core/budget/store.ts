/**
 * Where a budget's state lives, so that several processes can share it. All decisions are made where the state is, by its
 * clock; a process only waits as it is told. A store that keeps the state elsewhere (a row, a script) implements this.
 */

import type { BudgetView } from '../report.ts'
import type { Ms } from '../time.ts'
import type { Ask, Decision, Ending, Lease, Spent } from './budget.ts'

export type BudgetStore = {
  /** One request for the process named `holder`; see `take` of the budget. */
  readonly take: (holder: string, asks: readonly Ask[]) => Promise<Decision>
  readonly settle: (lease: Lease, ending: Ending) => Promise<void>
  /** The answer to the lease's request was a 429. */
  readonly throttle: (lease: Lease, waitMs: Ms) => Promise<void>
  readonly seed: (spent: Spent) => Promise<void>
  readonly view: () => Promise<BudgetView>
  readonly forecast: (requests: number) => Promise<Ms>
}
