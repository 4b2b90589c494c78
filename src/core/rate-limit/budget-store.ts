/**
 * Where a budget's state is kept, so that several processes can share it. Decisions are made where the state is, by its
 * clock; a process only waits as long as the decision says.
 */
import type { BudgetView } from '../command-reports.ts'
import type { Ms } from '../time.ts'
import type { PendingRequest, SlotDecision } from './acquire-slot.ts'
import type { PriorUsage, Slot, SlotEnding } from './budget.ts'

export type BudgetStore = {
  /** Requests one slot for the process named `holder`; see `acquireSlot`. */
  readonly acquire: (holder: string, pending: readonly PendingRequest[]) => Promise<SlotDecision>
  readonly release: (slot: Slot, ending: SlotEnding) => Promise<void>
  /** The response to the slot's request was a 429. */
  readonly recordThrottle: (slot: Slot, waitMs: Ms) => Promise<void>
  readonly recordPriorUsage: (usage: PriorUsage) => Promise<void>
  readonly view: () => Promise<BudgetView>
}
