/**
 * The request budget of one key: who may send now, and who waits for how long. Pure: `(state, now, …) → state`.
 *
 * A lease is anchored on the answer: its slot is taken before the request leaves and free again one window after the
 * answer arrived (or one window after the deadline, where none did). Whenever the service counted a request, it did so
 * between sending and answer; so all requests that it counts within one window hold their slots at one moment, and no
 * window, fixed or sliding, holds more than there are slots. A limiter that counts at sending time cannot promise that.
 */
import { type Priority, priorities } from './priority.ts'
import type { EpochMs, Ms } from '../time.ts'
import { addSlots, expireSlots, removeSlot, shiftSlots, roundUpToGrain } from './slots.ts'
import { type Allowance, burstSlots, emptyCapacity, nextPacedAt, type Capacity, msUntilSlot } from './capacity.ts'
import type { Rate } from './rate.ts'
import { removeWaiter, isBehindOthers, liveWaiters, type Waiter, addWaiter } from './waiters.ts'

/** `reserve`: the share of the slots, 0 to below 1, that is left to other programs that use the same key. */
export type BudgetPolicy = { readonly rate: Rate; readonly writeRate: Rate; readonly reserve: number }

/** One kind of request that a process has waiting. `deadlineMs`: how long it can take at most, once it is granted. */
export type PendingRequest = { readonly priority: Priority; readonly write: boolean; readonly deadlineMs: Ms }

/** A granted request. Give it back by `settle`; one that is not given back ends one window after its deadline. */
export type Slot = {
  readonly grantedAt: EpochMs
  readonly freeAt: EpochMs
  /** When its slot among the writes is free again; null for a read. */
  readonly writeFreeAt: EpochMs | null
}

/**
 * A grant is to be used, or given back, within so long of asking for it; the deadline of its ask reckons with it. So a
 * process that was stopped in between never sends on a lease that has run out.
 */
export const grantTtlMs: Ms = 1000

/** The deadline of an ask whose exchange has the client's usual 30 seconds. */
export const defaultDeadlineMs: Ms = 30_000 + grantTtlMs

/** `granted`: the place in the list of asks that may go. `waitMs`: ask again after so long, or when something changes. */
export type SlotDecision = { readonly granted: number; readonly lease: Slot } | { readonly waitMs: Ms }

/** Plain data. All times are by the clock of whoever keeps the state. */
export type BudgetState = {
  readonly at: EpochMs
  readonly all: Capacity
  readonly writes: Capacity
  readonly pausedUntil: EpochMs
  /** Nothing is granted before: what was spent until then may not be known. */
  readonly closedUntil: EpochMs
  /** Grows with each closing, so that a state from before one is known for what it is. */
  readonly era: number
  /** After a 429: the share of the slots that was left then. */
  readonly shrunk: { readonly at: EpochMs; readonly share: number }
  readonly throttled: number
  readonly waiters: readonly Waiter[]
}

export const initialBudgetState: BudgetState = {
  at: 0,
  all: emptyCapacity,
  writes: emptyCapacity,
  pausedUntil: 0,
  closedUntil: 0,
  era: 0,
  shrunk: { at: 0, share: 1 },
  throttled: 0,
  waiters: [],
}

/** Kept back for what we cannot see: a request that the service counts twice, a clock that is not quite ours. */
const safetyMargin = 0.05
const throttleFactor = 0.8
const minShare = 0.1
/** Share of the slots that comes back with each window without a 429. */
const shareRegainPerWindow = 0.025

/**
 * One process asks for one request; `asks` is what it has waiting, most urgent first, each kind once. Reads do not wait
 * for writes that have no slot of their own; otherwise nobody overtakes a more urgent ask, nor an older one as urgent.
 */
export function acquireSlot(
  policy: BudgetPolicy,
  before: BudgetState,
  clock: EpochMs,
  holder: string,
  pending: readonly PendingRequest[],
): AcquireResult {
  const result = decideSlot(policy, before, clock, holder, pending)
  return { ...result, state: withWriteWaiter(result, policy, holder, pending) }
}

type AcquireResult = { readonly state: BudgetState; readonly decision: SlotDecision }

/**
 * Writes are so few that whoever has just got one is usually the first to ask for the next: they go by turns of their own,
 * as one who waits for a write may well be served reads meanwhile.
 */
const writeWaiterRank = priorities.length
const writeWaiterId = (holder: string) => `${holder} w`

function withWriteWaiter(
  { state, decision }: AcquireResult,
  { rate }: BudgetPolicy,
  holder: string,
  pending: readonly PendingRequest[],
): BudgetState {
  const isWriteWaiting = pending.some((request, index) => request.write && !('granted' in decision && decision.granted === index))
  const until = state.at + rate.windowMs / 12 + Math.min(1000, rate.windowMs / 20)
  const waiterId = writeWaiterId(holder)
  const waiters = isWriteWaiting
    ? addWaiter(state.waiters, { holder: waiterId, rank: writeWaiterRank, until }, state.at)
    : removeWaiter(state.waiters, waiterId)
  return waiters === state.waiters ? state : { ...state, waiters }
}

function decideSlot(
  policy: BudgetPolicy,
  before: BudgetState,
  clock: EpochMs,
  holder: string,
  pending: readonly PendingRequest[],
): AcquireResult {
  const state = advanceTo(before, clock)
  const now = state.at
  const { all, writes } = allowances(policy, state, now)
  const writeWaiters = state.waiters.filter(({ rank: lane }) => lane === writeWaiterRank)
  const isContested = state.writes.taken.total >= burstSlots(writes.slots)
  const yieldMs = isContested && isBehindOthers(writeWaiters, writeWaiterId(holder), writeWaiterRank, now) ? writes.windowMs / 240 : 0
  const writeWaitMs = (request: PendingRequest) => (request.write ? Math.max(yieldMs, msUntilSlot(state.writes, writes, now)) : 0)
  const sharedWaitMs = Math.max(state.pausedUntil - now, state.closedUntil - now, msUntilSlot(state.all, all, now))
  const index = pending.findIndex((request) => writeWaitMs(request) <= sharedWaitMs)
  const request = pending[index]
  if (request === undefined) return deferRequest(state, holder, null, Math.min(...pending.map(writeWaitMs)), policy)
  if (sharedWaitMs > 0) return deferRequest(state, holder, request, sharedWaitMs, policy)
  if (mustYield(state, all, holder, request)) return deferRequest(state, holder, request, all.windowMs / all.slots, policy)
  return grantSlot(state, { all, writes }, holder, request, index)
}

/** How a lease ends: the service answered, or it is certain that no byte of the request left. */
export type SlotEnding = 'answered' | 'unsent'

export function releaseSlot(
  policy: BudgetPolicy,
  before: BudgetState,
  clock: EpochMs,
  slot: Slot,
  ending: SlotEnding,
): BudgetState {
  const state = advanceTo(before, clock)
  const end = (pool: Capacity, freeAt: EpochMs, windowMs: Ms): Capacity => {
    const remaining = removeSlot(pool.taken, freeAt)
    return { ...pool, taken: ending === 'unsent' ? remaining : addSlots(remaining, roundUpToGrain(state.at + windowMs, windowMs)) }
  }
  return {
    ...state,
    all: end(state.all, slot.freeAt, policy.rate.windowMs),
    writes: slot.writeFreeAt === null ? state.writes : end(state.writes, slot.writeFreeAt, policy.writeRate.windowMs),
  }
}

/**
 * A 429: somebody else uses the key. Everybody rests for `waitMs`, and goes on with fewer slots. The requests that were
 * under way at the same time say nothing new when they fail as well: the slots shrink once for all of them.
 */
export function recordThrottle(
  policy: BudgetPolicy,
  before: BudgetState,
  clock: EpochMs,
  slot: Slot,
  waitMs: Ms,
): BudgetState {
  const state = advanceTo(before, clock)
  const share = currentShare(policy, state, state.at)
  const isNewThrottle = state.shrunk.share === 1 || slot.grantedAt >= state.shrunk.at
  return {
    ...state,
    pausedUntil: Math.max(state.pausedUntil, state.at + waitMs),
    shrunk: { at: state.at, share: isNewThrottle ? Math.max(minShare, share * throttleFactor) : share },
    throttled: state.throttled + 1,
  }
}

/** Requests of the same key that were made without this budget, the last of them `agoMs` ago. */
export type PriorUsage = { readonly requests: number; readonly writes: number; readonly agoMs: Ms }

/** Takes slots for what others spent, as if the last moment had been theirs: too long rather than too short. */
export function recordPriorUsage(policy: BudgetPolicy, before: BudgetState, clock: EpochMs, usage: PriorUsage): BudgetState {
  const state = advanceTo(before, clock)
  const occupy = (capacity: Capacity, count: number, windowMs: Ms): Capacity => {
    const freeAt = roundUpToGrain(state.at - Math.max(0, usage.agoMs) + windowMs, windowMs)
    return count <= 0 || freeAt <= state.at ? capacity : { ...capacity, taken: addSlots(capacity.taken, freeAt, count) }
  }
  return {
    ...state,
    all: occupy(state.all, usage.requests, policy.rate.windowMs),
    writes: occupy(state.writes, usage.writes, policy.writeRate.windowMs),
  }
}

function grantSlot(
  state: BudgetState,
  { all, writes }: { readonly all: Allowance; readonly writes: Allowance },
  holder: string,
  request: PendingRequest,
  index: number,
): AcquireResult {
  const now = state.at
  const freeAt = roundUpToGrain(now + request.deadlineMs + all.windowMs, all.windowMs)
  const writeFreeAt = request.write ? roundUpToGrain(now + request.deadlineMs + writes.windowMs, writes.windowMs) : null
  const occupy = (capacity: Capacity, allowance: Allowance, until: EpochMs): Capacity => ({
    taken: addSlots(capacity.taken, until),
    pacedAt: nextPacedAt(capacity, allowance, now),
  })
  return {
    state: {
      ...state,
      all: occupy(state.all, all, freeAt),
      writes: writeFreeAt === null ? state.writes : occupy(state.writes, writes, writeFreeAt),
      waiters: removeWaiter(state.waiters, holder),
    },
    decision: { granted: index, lease: { grantedAt: now, freeAt, writeFreeAt } },
  }
}

/** Tells the process to wait, and keeps its turn; `ask` null: it waits for nothing that others need. */
function deferRequest(state: BudgetState, holder: string, request: PendingRequest | null, waitMs: Ms, policy: BudgetPolicy): AcquireResult {
  const { windowMs } = policy.rate
  // Nobody sleeps long: what holds it up may have gone, and a process that died must not hold up others for long.
  const wait = Math.max(1, Math.min(waitMs, windowMs / 12))
  const until = state.at + wait + Math.min(1000, windowMs / 20)
  const waiters =
    request === null
      ? removeWaiter(state.waiters, holder)
      : addWaiter(state.waiters, { holder, rank: priorities.indexOf(request.priority), until }, state.at)
  return { state: { ...state, waiters }, decision: { waitMs: wait } }
}

/** With slots to spare nobody yields. */
function mustYield(state: BudgetState, all: Allowance, holder: string, request: PendingRequest): boolean {
  const hasSpareSlots = state.all.taken.total < burstSlots(all.slots)
  return !hasSpareSlots && isBehindOthers(state.waiters, holder, priorities.indexOf(request.priority), state.at)
}

/** What may be used at `now`: less after a 429, less a reserve. */
export function allowances(policy: BudgetPolicy, state: BudgetState, now: EpochMs) {
  const share = (1 - safetyMargin) * (1 - policy.reserve) * currentShare(policy, state, now)
  const allowance = ({ requests, windowMs }: Rate): Allowance => ({
    // The rounding keeps 0.95 × 600 from being 569.
    slots: Math.max(1, Math.floor(Math.round(requests * share * 1e6) / 1e6)),
    windowMs,
  })
  return { all: allowance(policy.rate), writes: allowance(policy.writeRate) }
}

function currentShare(policy: BudgetPolicy, { shrunk }: BudgetState, now: EpochMs): number {
  if (shrunk.share === 1) return 1
  return Math.min(1, shrunk.share + (shareRegainPerWindow * (now - shrunk.at)) / policy.rate.windowMs)
}

/**
 * The state at `now`: what has ended is gone. A clock that was set back moves all times with it, so that each lease lasts
 * as long as it would have.
 */
export function advanceTo(before: BudgetState, now: EpochMs): BudgetState {
  const state = now < before.at ? shiftClock(before, now - before.at) : before
  return {
    ...state,
    at: now,
    all: { ...state.all, taken: expireSlots(state.all.taken, now) },
    writes: { ...state.writes, taken: expireSlots(state.writes.taken, now) },
    waiters: liveWaiters(state.waiters, now),
  }
}

/** The same state on a clock that was moved by so many milliseconds: everything lasts as long as it would have. */
export function shiftClock(state: BudgetState, by: Ms): BudgetState {
  const shiftCapacity = ({ taken: leases, pacedAt }: Capacity): Capacity => ({ taken: shiftSlots(leases, by), pacedAt: pacedAt + by })
  return {
    ...state,
    all: shiftCapacity(state.all),
    writes: shiftCapacity(state.writes),
    at: state.at + by,
    pausedUntil: state.pausedUntil + by,
    closedUntil: state.closedUntil + by,
    shrunk: { ...state.shrunk, at: state.shrunk.at + by },
    waiters: state.waiters.map((waiter) => ({ ...waiter, since: waiter.since + by, until: waiter.until + by })),
  }
}
