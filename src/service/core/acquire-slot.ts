/** Which waiting request may be sent now, and how long the others wait. Pure. */
import type { EpochMs, Ms } from '../../values/time.ts'
import { type Priority, priorities } from './api-request.ts'
import {
  addWaiter,
  advanceTo,
  type BudgetState,
  isBehindOthers,
  removeWaiter,
  type SlotLimits,
  slotLimits,
} from './budget.ts'
import type { BudgetPolicy } from './budget-policy.ts'
import {
  addSlots,
  countTaken,
  msUntilSlot,
  nextPacedAt,
  roundUpToGrain,
  type SlotLimit,
  type SlotUsage,
} from './slots.ts'

/** Requests of one kind that a process has. `maxDurationMs`: of one at most, once it is granted. */
export type PendingRequest = {
  readonly priority: Priority
  readonly write: boolean
  readonly maxDurationMs: Ms
}
/**
 * A grant must be used or returned within this time of its request, so that a process that was
 * suspended never sends on an expired slot.
 */
export const grantTtlMs: Ms = 1000

/** How long one exchange may take unless the client says otherwise. */
export const defaultTimeoutMs: Ms = 30_000
export const defaultMaxDurationMs: Ms = defaultTimeoutMs + grantTtlMs

/**
 * `pending`: most urgent first, each kind once. Reads do not wait for writes that have no write
 * slot; otherwise no request overtakes a more urgent or an older one. Returns which one is granted
 * a slot, by its index, or `waitMs`: ask again then, or when something changes.
 */
export function acquireSlot(
  policy: BudgetPolicy,
  before: BudgetState,
  now: EpochMs,
  processId: string,
  pending: readonly PendingRequest[],
) {
  const result = decideSlot(policy, advanceTo(policy, before, now), processId, pending)
  return { ...result, state: withWriteWaiter(result, policy.rate.windowMs, processId, pending) }
}

/**
 * Waiters for write slots have a rank and a name of their own, so that their process still gets
 * slots for reads. Without waiters, the process that just got one would usually get the next.
 */
const writeWaiterRank = priorities.length
const writeWaiterId = (processId: string) => `${processId} w`

function withWriteWaiter(
  { state, decision }: ReturnType<typeof decideSlot>,
  windowMs: Ms,
  processId: string,
  pending: readonly PendingRequest[],
) {
  const granted = 'granted' in decision ? decision.granted : null
  const isWriteWaiting = pending.some((request, index) => request.write && index !== granted)
  const until = waiterExpiry(state.at, maxWaitMs(windowMs), windowMs)
  const waiterId = writeWaiterId(processId)
  const waiters = isWriteWaiting
    ? addWaiter(state.waiters, { id: waiterId, rank: writeWaiterRank, until }, state.at)
    : removeWaiter(state.waiters, waiterId)
  return waiters === state.waiters ? state : { ...state, waiters }
}

function decideSlot(
  policy: BudgetPolicy,
  state: BudgetState,
  processId: string,
  pending: readonly PendingRequest[],
) {
  const now = state.at
  const limits = slotLimits(policy, state, now)
  const { all, writes } = limits
  const writeWaiters = state.waiters.filter(({ rank }) => rank === writeWaiterRank)
  const isPastBurst = countTaken(state.writes.taken, now) >= writes.burst
  const mustYieldWrite =
    isPastBurst && isBehindOthers(writeWaiters, writeWaiterId(processId), writeWaiterRank, now)
  const writeYieldMs = mustYieldWrite ? writes.windowMs / 240 : 0
  const nextWriteMs = Math.max(writeYieldMs, msUntilSlot(state.writes, writes, now))
  const sharedWaitMs = Math.max(
    state.pausedUntil - now,
    state.closedUntil - now,
    msUntilSlot(state.all, all, now),
  )
  const index = pending.findIndex(({ write }) => !write || nextWriteMs <= sharedWaitMs)
  const request = pending[index]
  const { windowMs } = policy.rate
  if (request === undefined) return deferRequest(state, processId, null, nextWriteMs, windowMs)
  if (sharedWaitMs > 0) return deferRequest(state, processId, request, sharedWaitMs, windowMs)
  const paceMs = all.windowMs / all.slots
  // While there are spare slots, no process yields.
  const hasSpareSlots = countTaken(state.all.taken, now) < all.burst
  const isBehind = isBehindOthers(
    state.waiters,
    processId,
    priorities.indexOf(request.priority),
    now,
  )
  if (!hasSpareSlots && isBehind) return deferRequest(state, processId, request, paceMs, windowMs)
  return grantSlot(state, limits, processId, request, index)
}

function grantSlot(
  state: BudgetState,
  limits: SlotLimits,
  processId: string,
  request: PendingRequest,
  index: number,
) {
  const { all, writes } = limits
  const now = state.at
  const freeAfter = ({ windowMs }: SlotLimit) =>
    roundUpToGrain(now + request.maxDurationMs + windowMs, windowMs)
  const freeAt = freeAfter(all)
  const writeFreeAt = request.write ? freeAfter(writes) : null
  const takeSlot = (usage: SlotUsage, limit: SlotLimit, until: EpochMs): SlotUsage => ({
    taken: addSlots(usage.taken, until),
    pacedAt: nextPacedAt(usage, limit, now),
  })
  return {
    state: {
      ...state,
      all: takeSlot(state.all, all, freeAt),
      writes: writeFreeAt === null ? state.writes : takeSlot(state.writes, writes, writeFreeAt),
      waiters: removeWaiter(state.waiters, processId),
    },
    decision: { granted: index, slot: { grantedAt: now, freeAt, writeFreeAt } },
  }
}

/** Keeps its place among the waiters; `request` null: it waits for nothing that others need. */
function deferRequest(
  state: BudgetState,
  processId: string,
  request: PendingRequest | null,
  waitMs: Ms,
  windowMs: Ms,
) {
  const wait = Math.max(1, Math.min(waitMs, maxWaitMs(windowMs)))
  const until = waiterExpiry(state.at, wait, windowMs)
  const waiters =
    request === null
      ? removeWaiter(state.waiters, processId)
      : addWaiter(
          state.waiters,
          { id: processId, rank: priorities.indexOf(request.priority), until },
          state.at,
        )
  return { state: { ...state, waiters }, decision: { waitMs: wait } }
}

/** No wait is long: the cause may go away, and a dead process must not delay the others. */
const maxWaitMs = (windowMs: Ms): Ms => windowMs / 12

/** When a waiter loses its place: a little later than it should ask again. */
const waiterExpiry = (now: EpochMs, waitMs: Ms, windowMs: Ms): EpochMs =>
  now + waitMs + Math.min(1000, windowMs / 20)
