/**
 * Where a budget's state lives, so that several processes can share it. All decisions are made where the state is, by its
 * clock; a process only waits as it is told. A store that keeps the state elsewhere (a row, a script) implements this.
 */

import type { BudgetView } from '../report.ts'
import type { Ms } from '../time.ts'
import type { PendingRequest, SlotDecision, SlotEnding, Slot, PriorUsage } from './budget.ts'

export type BudgetStore = {
  /** One request for the process named `holder`; see `take` of the budget. */
  readonly acquire: (holder: string, asks: readonly PendingRequest[]) => Promise<SlotDecision>
  readonly release: (lease: Slot, ending: SlotEnding) => Promise<void>
  /** The answer to the lease's request was a 429. */
  readonly recordThrottle: (lease: Slot, waitMs: Ms) => Promise<void>
  readonly recordPriorUsage: (spent: PriorUsage) => Promise<void>
  readonly view: () => Promise<BudgetView>
  readonly estimateSendMs: (requests: number) => Promise<Ms>
}
