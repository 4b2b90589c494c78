/**
 * The request budget of one API key: which slots are taken, and how that changes. Pure: `(state,
 * now, …) → state`.
 *
 * The idea: a slot is taken before the request leaves, and is free again one window after the
 * response arrived (or one window after the deadline, if none came). The service counts a request
 * at some point between sending and response. So all requests that it counts within one window hold
 * their slots at the same time, and no window, fixed or sliding, contains more requests than there
 * are slots. A limiter that counts at sending time cannot promise that.
 *
 * Two reserves, both of the margin (2 %): there are fewer slots than the limit, and a slot that is
 * free again still counts against the limit for the margin of a window. They are for a service that
 * counts whole seconds, whose minute has 61 of them, and for a clock of the store that runs ahead.
 *
 * The states of a slot: free, granted (`acquire-slot.ts`: whose turn it is, and at which pace, is
 * in `slots.ts`), responded, and free again after a window. One that was never sent is given back
 * at once. After a 429 all of the key pause, and there are fewer slots for a while (`reduction`).
 *
 * The state is one record that all processes share (`budget-store.ts`): each change is a
 * compare-and-set on the last one, by the clock of the store. If the record may have been lost, or
 * is older than what a process has seen, nothing is sent for a whole window (`close-budget.ts`).
 *
 * The invariant: whatever a process, a clock or a store does, the service counts no more requests
 * in a window than its limit. `simulation.test.ts` proves it with servers that count in every way
 * we know, `stores.test.ts` with real stores that lose records, `processes.test.ts` with processes
 * that are killed and suspended.
 */
import type { EpochMs, Ms, Rate } from '../../values/time.ts'
import { type BudgetPolicy, marginMs, slotsWithin } from './budget-policy.ts'
import {
  addSlots,
  burstSlots,
  countTaken,
  emptyUsage,
  expireSlots,
  removeSlot,
  roundUpToGrain,
  type SlotLimit,
  type SlotUsage,
  shiftSlots,
} from './slots.ts'

/** To be released; else it expires one window after its deadline. */
export type Slot = {
  readonly grantedAt: EpochMs
  readonly freeAt: EpochMs
  /** When its slot among the writes is free again; null for a read. */
  readonly writeFreeAt: EpochMs | null
}

/** Plain data. All times are by the clock of the store that keeps the state. */
export type BudgetState = {
  readonly at: EpochMs
  readonly all: SlotUsage
  readonly writes: SlotUsage
  readonly pausedUntil: EpochMs
  /** Nothing is granted before: the requests sent until then may not be known. */
  readonly closedUntil: EpochMs
  /** Grows each time the budget is closed, so that an older state can be recognised. */
  readonly generation: number
  /** `share`: of the slots that was left after the last 429, which came at `at`. */
  readonly reduction: { readonly at: EpochMs; readonly share: number }
  readonly throttled: number
  readonly waiters: readonly Waiter[]
}

export const initialBudgetState: BudgetState = {
  at: 0,
  all: emptyUsage,
  writes: emptyUsage,
  pausedUntil: 0,
  closedUntil: 0,
  generation: 0,
  reduction: { at: 0, share: 1 },
  throttled: 0,
  waiters: [],
}

/** AIMD: each 429 multiplies the share of the slots, and each window without one adds to it. */
const decreaseFactor = 0.8
const minShare = 0.1
const increasePerWindow = 0.025

/** `unsent`: no byte of the request can have left. */
export function releaseSlot(
  policy: BudgetPolicy,
  before: BudgetState,
  now: EpochMs,
  slot: Slot,
  ending: 'responded' | 'unsent',
) {
  const state = advanceTo(policy, before, now)
  const endSlot = (usage: SlotUsage, freeAt: EpochMs | null, { windowMs }: Rate): SlotUsage => {
    if (freeAt === null) return usage
    const remaining = removeSlot(usage.taken, freeAt)
    const taken =
      ending === 'unsent'
        ? remaining
        : addSlots(remaining, roundUpToGrain(state.at + windowMs, windowMs))
    return { ...usage, taken }
  }
  const all = endSlot(state.all, slot.freeAt, policy.rate)
  return { ...state, all, writes: endSlot(state.writes, slot.writeFreeAt, policy.writeRate) }
}

/**
 * Another program uses the key, or the margin is too narrow. All pause for `waitMs`, then there are
 * fewer slots, once for all requests that were under way together.
 */
export function recordThrottle(
  policy: BudgetPolicy,
  before: BudgetState,
  now: EpochMs,
  slot: Slot,
  waitMs: Ms,
) {
  const state = advanceTo(policy, before, now)
  const share = currentShare(policy, state, state.at)
  const isNewThrottle = state.reduction.share === 1 || slot.grantedAt >= state.reduction.at
  return {
    ...state,
    pausedUntil: Math.max(state.pausedUntil, state.at + waitMs),
    reduction: {
      at: state.at,
      share: isNewThrottle ? Math.max(minShare, share * decreaseFactor) : share,
    },
    throttled: state.throttled + 1,
  }
}

/** The slots that may be used at `now`: less the margin and the reserve, and fewer after a 429. */
export function slotLimits(policy: BudgetPolicy, state: BudgetState, now: EpochMs) {
  const left = currentShare(policy, state, now)
  const share = (1 - policy.reserve) * left
  const toLimit = (rate: Rate): SlotLimit => {
    const slots = slotsWithin(rate, share * (1 - policy.rateMargin))
    return {
      slots,
      limit: slotsWithin(rate, share),
      burst: left === 1 ? burstSlots(slots) : 1,
      windowMs: rate.windowMs,
      marginMs: marginMs(policy, rate),
    }
  }
  return { all: toLimit(policy.rate), writes: toLimit(policy.writeRate) }
}

export type SlotLimits = ReturnType<typeof slotLimits>

function currentShare(policy: BudgetPolicy, { reduction }: BudgetState, now: EpochMs): number {
  if (reduction.share === 1) return 1
  return Math.min(
    1,
    reduction.share + (increasePerWindow * (now - reduction.at)) / policy.rate.windowMs,
  )
}

/** The state now, without what has expired. A clock that was set back shifts all times with it. */
export function advanceTo(policy: BudgetPolicy, before: BudgetState, now: EpochMs): BudgetState {
  const state = now < before.at ? shiftClock(before, now - before.at) : before
  return {
    ...state,
    at: now,
    all: { ...state.all, taken: expireSlots(state.all.taken, now - marginMs(policy, policy.rate)) },
    writes: {
      ...state.writes,
      taken: expireSlots(state.writes.taken, now - marginMs(policy, policy.writeRate)),
    },
    waiters: state.waiters.filter(({ until }) => until > now),
  }
}

export function shiftClock(state: BudgetState, by: Ms): BudgetState {
  const shiftUsage = (usage: SlotUsage) => ({
    taken: shiftSlots(usage.taken, by),
    pacedAt: usage.pacedAt + by,
  })
  return {
    ...state,
    all: shiftUsage(state.all),
    writes: shiftUsage(state.writes),
    at: state.at + by,
    pausedUntil: state.pausedUntil + by,
    closedUntil: state.closedUntil + by,
    reduction: { ...state.reduction, at: state.reduction.at + by },
    waiters: state.waiters.map((waiter) => ({
      ...waiter,
      since: waiter.since + by,
      until: waiter.until + by,
    })),
  }
}

/**
 * A process that waits. `rank`: of its priority, 0 = the most urgent. None behind it gets a slot
 * before it, until `until`, as it may have died.
 */
type Waiter = {
  readonly id: string
  readonly rank: number
  readonly since: EpochMs
  readonly until: EpochMs
}

/** The process waits at this rank, from now on or still. */
export function addWaiter(
  waiters: readonly Waiter[],
  waiter: Omit<Waiter, 'since'>,
  now: EpochMs,
): readonly Waiter[] {
  const since = waitingSince(waiters, waiter.id, waiter.rank) ?? now
  return [...removeWaiter(waiters, waiter.id), { ...waiter, since }]
}

export function removeWaiter(waiters: readonly Waiter[], id: string): readonly Waiter[] {
  const others = waiters.filter((waiter) => waiter.id !== id)
  return others.length < waiters.length ? others : waiters
}

/** Whether another process waits at a more urgent rank, or longer at the same rank. */
export function isBehindOthers(
  waiters: readonly Waiter[],
  id: string,
  rank: number,
  now: EpochMs,
): boolean {
  const since = waitingSince(waiters, id, rank) ?? now
  const isBefore = (other: Waiter) =>
    other.rank < rank || (other.rank === rank && other.since < since)
  return waiters.some((waiter) => waiter.id !== id && isBefore(waiter))
}

function waitingSince(waiters: readonly Waiter[], id: string, rank: number): EpochMs | undefined {
  return waiters.find((waiter) => waiter.id === id && waiter.rank === rank)?.since
}

export type BudgetView = ReturnType<typeof budgetView>

export function budgetView(policy: BudgetPolicy, before: BudgetState, clock: EpochMs) {
  const state = advanceTo(policy, before, clock)
  return {
    limit: policy.rate.requests,
    windowMs: policy.rate.windowMs,
    /** Slots that may be in use at the same time; fewer after a 429, then slowly more again. */
    slots: slotLimits(policy, state, state.at).all.slots,
    inUse: countTaken(state.all.taken, state.at),
    /** For how long a 429 still pauses the whole key; null = it does not. */
    pausedForMs: state.pausedUntil > state.at ? state.pausedUntil - state.at : null,
    /** Nothing is sent, as the record of recent requests may be lost; null = not closed. */
    closedForMs: state.closedUntil > state.at ? state.closedUntil - state.at : null,
    throttled: state.throttled,
  }
}

/** The slots of a budget while nothing reduces them, for estimates. */
export function steadyLimits(policy: BudgetPolicy): SlotLimits {
  return slotLimits(policy, initialBudgetState, 0)
}

/** At an even pace, if no other process sends any and the service throttles nothing. */
export function estimateMs({ slots, windowMs }: SlotLimit, requests: number): Ms {
  return Math.ceil((requests * windowMs) / slots)
}

/** The same for sends that also read before and after: the slower of the two rates decides. */
export function estimateSendsMs({ all, writes: limit }: SlotLimits, writes: number, reads: number) {
  return Math.max(estimateMs(limit, writes), estimateMs(all, writes + reads))
}
