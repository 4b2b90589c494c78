/**
 * The request budget of one key: who may send now, and who waits for how long. Pure: `(state, now, …) → state`.
 *
 * A lease is anchored on the answer: its slot is taken before the request leaves and free again one window after the
 * answer arrived (or one window after the deadline, where none did). Whenever the service counted a request, it did so
 * between sending and answer; so all requests that it counts within one window hold their slots at one moment, and no
 * window, fixed or sliding, holds more than there are slots. A limiter that counts at sending time cannot promise that.
 */
import { type Lane, lanes } from '../lane.ts'
import type { EpochMs, Ms } from '../time.ts'
import { addLease, expireLeases, removeLease, shiftLeases, toGrain } from './leases.ts'
import { type Allowance, burst, emptyPool, nextPacedAt, type Pool, waitForSlot } from './pool.ts'
import type { Rate } from './rate.ts'
import { endTurn, isBehind, liveTurns, type Turn, waitTurn } from './turns.ts'

/** `reserve`: the share of the slots, 0 to below 1, that is left to other programs that use the same key. */
export type BudgetPolicy = { readonly rate: Rate; readonly writeRate: Rate; readonly reserve: number }

/** One kind of request that a process has waiting. `deadlineMs`: how long it can take at most, once it is granted. */
export type Ask = { readonly lane: Lane; readonly write: boolean; readonly deadlineMs: Ms }

/** A granted request. Give it back by `settle`; one that is not given back ends one window after its deadline. */
export type Lease = {
  readonly grantedAt: EpochMs
  readonly freeAt: EpochMs
  /** When its slot among the writes is free again; null for a read. */
  readonly writeFreeAt: EpochMs | null
}

/**
 * A grant is to be used, or given back, within so long of asking for it; the deadline of its ask reckons with it. So a
 * process that was stopped in between never sends on a lease that has run out.
 */
export const grantLastsMs: Ms = 1000

/** The deadline of an ask whose exchange has the client's usual 30 seconds. */
export const usualDeadlineMs: Ms = 30_000 + grantLastsMs

/** `granted`: the place in the list of asks that may go. `waitMs`: ask again after so long, or when something changes. */
export type Decision = { readonly granted: number; readonly lease: Lease } | { readonly waitMs: Ms }

/** Plain data. All times are by the clock of whoever keeps the state. */
export type BudgetState = {
  readonly at: EpochMs
  readonly all: Pool
  readonly writes: Pool
  readonly pausedUntil: EpochMs
  /** Nothing is granted before: what was spent until then may not be known. */
  readonly closedUntil: EpochMs
  /** Grows with each closing, so that a state from before one is known for what it is. */
  readonly era: number
  /** After a 429: the share of the slots that was left then. */
  readonly shrunk: { readonly at: EpochMs; readonly share: number }
  readonly throttled: number
  readonly turns: readonly Turn[]
}

export const freshBudget: BudgetState = {
  at: 0,
  all: emptyPool,
  writes: emptyPool,
  pausedUntil: 0,
  closedUntil: 0,
  era: 0,
  shrunk: { at: 0, share: 1 },
  throttled: 0,
  turns: [],
}

/** Kept back for what we cannot see: a request that the service counts twice, a clock that is not quite ours. */
const margin = 0.05
const shrinkBy = 0.8
const leastShare = 0.1
/** Share of the slots that comes back with each window without a 429. */
const growth = 0.025

/**
 * One process asks for one request; `asks` is what it has waiting, most urgent first, each kind once. Reads do not wait
 * for writes that have no slot of their own; otherwise nobody overtakes a more urgent ask, nor an older one as urgent.
 */
export function take(
  policy: BudgetPolicy,
  before: BudgetState,
  clock: EpochMs,
  holder: string,
  asks: readonly Ask[],
): Taken {
  const taken = decide(policy, before, clock, holder, asks)
  return { ...taken, state: withWriteTurn(taken, policy, holder, asks) }
}

type Taken = { readonly state: BudgetState; readonly decision: Decision }

/**
 * Writes are so few that whoever has just got one is usually the first to ask for the next: they go by turns of their own,
 * as one who waits for a write may well be served reads meanwhile.
 */
const writeTurn = lanes.length
const writerOf = (holder: string) => `${holder} w`

function withWriteTurn(
  { state, decision }: Taken,
  { rate }: BudgetPolicy,
  holder: string,
  asks: readonly Ask[],
): BudgetState {
  const waits = asks.some((ask, place) => ask.write && !('granted' in decision && decision.granted === place))
  const until = state.at + rate.windowMs / 12 + Math.min(1000, rate.windowMs / 20)
  const writer = writerOf(holder)
  const turns = waits
    ? waitTurn(state.turns, { holder: writer, lane: writeTurn, until }, state.at)
    : endTurn(state.turns, writer)
  return turns === state.turns ? state : { ...state, turns }
}

function decide(
  policy: BudgetPolicy,
  before: BudgetState,
  clock: EpochMs,
  holder: string,
  asks: readonly Ask[],
): Taken {
  const state = moveTo(before, clock)
  const now = state.at
  const { all, writes } = allowances(policy, state, now)
  const writers = state.turns.filter(({ lane }) => lane === writeTurn)
  const isContested = state.writes.leases.total >= burst(writes.slots)
  const yields = isContested && isBehind(writers, writerOf(holder), writeTurn, now) ? writes.windowMs / 240 : 0
  const own = (ask: Ask) => (ask.write ? Math.max(yields, waitForSlot(state.writes, writes, now)) : 0)
  const shared = Math.max(state.pausedUntil - now, state.closedUntil - now, waitForSlot(state.all, all, now))
  const first = asks.findIndex((ask) => own(ask) <= shared)
  const ask = asks[first]
  if (ask === undefined) return told(state, holder, null, Math.min(...asks.map(own)), policy)
  if (shared > 0) return told(state, holder, ask, shared, policy)
  if (mustYield(state, all, holder, ask)) return told(state, holder, ask, all.windowMs / all.slots, policy)
  return grant(state, { all, writes }, holder, ask, first)
}

/** How a lease ends: the service answered, or it is certain that no byte of the request left. */
export type Ending = 'answered' | 'unsent'

export function settle(
  policy: BudgetPolicy,
  before: BudgetState,
  clock: EpochMs,
  lease: Lease,
  ending: Ending,
): BudgetState {
  const state = moveTo(before, clock)
  const end = (pool: Pool, freeAt: EpochMs, windowMs: Ms): Pool => {
    const rest = removeLease(pool.leases, freeAt)
    return { ...pool, leases: ending === 'unsent' ? rest : addLease(rest, toGrain(state.at + windowMs, windowMs)) }
  }
  return {
    ...state,
    all: end(state.all, lease.freeAt, policy.rate.windowMs),
    writes: lease.writeFreeAt === null ? state.writes : end(state.writes, lease.writeFreeAt, policy.writeRate.windowMs),
  }
}

/**
 * A 429: somebody else uses the key. Everybody rests for `waitMs`, and goes on with fewer slots. The requests that were
 * under way at the same time say nothing new when they fail as well: the slots shrink once for all of them.
 */
export function throttle(
  policy: BudgetPolicy,
  before: BudgetState,
  clock: EpochMs,
  lease: Lease,
  waitMs: Ms,
): BudgetState {
  const state = moveTo(before, clock)
  const share = shareOf(policy, state, state.at)
  const news = state.shrunk.share === 1 || lease.grantedAt >= state.shrunk.at
  return {
    ...state,
    pausedUntil: Math.max(state.pausedUntil, state.at + waitMs),
    shrunk: { at: state.at, share: news ? Math.max(leastShare, share * shrinkBy) : share },
    throttled: state.throttled + 1,
  }
}

/** Requests of the same key that were made without this budget, the last of them `agoMs` ago. */
export type Spent = { readonly requests: number; readonly writes: number; readonly agoMs: Ms }

/** Takes slots for what others spent, as if the last moment had been theirs: too long rather than too short. */
export function seed(policy: BudgetPolicy, before: BudgetState, clock: EpochMs, spent: Spent): BudgetState {
  const state = moveTo(before, clock)
  const hold = (pool: Pool, count: number, windowMs: Ms): Pool => {
    const freeAt = toGrain(state.at - Math.max(0, spent.agoMs) + windowMs, windowMs)
    return count <= 0 || freeAt <= state.at ? pool : { ...pool, leases: addLease(pool.leases, freeAt, count) }
  }
  return {
    ...state,
    all: hold(state.all, spent.requests, policy.rate.windowMs),
    writes: hold(state.writes, spent.writes, policy.writeRate.windowMs),
  }
}

function grant(
  state: BudgetState,
  { all, writes }: { readonly all: Allowance; readonly writes: Allowance },
  holder: string,
  ask: Ask,
  granted: number,
): Taken {
  const now = state.at
  const freeAt = toGrain(now + ask.deadlineMs + all.windowMs, all.windowMs)
  const writeFreeAt = ask.write ? toGrain(now + ask.deadlineMs + writes.windowMs, writes.windowMs) : null
  const hold = (pool: Pool, allowance: Allowance, until: EpochMs): Pool => ({
    leases: addLease(pool.leases, until),
    pacedAt: nextPacedAt(pool, allowance, now),
  })
  return {
    state: {
      ...state,
      all: hold(state.all, all, freeAt),
      writes: writeFreeAt === null ? state.writes : hold(state.writes, writes, writeFreeAt),
      turns: endTurn(state.turns, holder),
    },
    decision: { granted, lease: { grantedAt: now, freeAt, writeFreeAt } },
  }
}

/** Tells the process to wait, and keeps its turn; `ask` null: it waits for nothing that others need. */
function told(state: BudgetState, holder: string, ask: Ask | null, waitMs: Ms, policy: BudgetPolicy): Taken {
  const { windowMs } = policy.rate
  // Nobody sleeps long: what holds it up may have gone, and a process that died must not hold up others for long.
  const wait = Math.max(1, Math.min(waitMs, windowMs / 12))
  const until = state.at + wait + Math.min(1000, windowMs / 20)
  const turns =
    ask === null
      ? endTurn(state.turns, holder)
      : waitTurn(state.turns, { holder, lane: lanes.indexOf(ask.lane), until }, state.at)
  return { state: { ...state, turns }, decision: { waitMs: wait } }
}

/** With slots to spare nobody yields. */
function mustYield(state: BudgetState, all: Allowance, holder: string, ask: Ask): boolean {
  const spare = state.all.leases.total < burst(all.slots)
  return !spare && isBehind(state.turns, holder, lanes.indexOf(ask.lane), state.at)
}

/** What may be used at `now`: less after a 429, less a reserve. */
export function allowances(policy: BudgetPolicy, state: BudgetState, now: EpochMs) {
  const share = (1 - margin) * (1 - policy.reserve) * shareOf(policy, state, now)
  const allowance = ({ requests, windowMs }: Rate): Allowance => ({
    // The rounding keeps 0.95 × 600 from being 569.
    slots: Math.max(1, Math.floor(Math.round(requests * share * 1e6) / 1e6)),
    windowMs,
  })
  return { all: allowance(policy.rate), writes: allowance(policy.writeRate) }
}

function shareOf(policy: BudgetPolicy, { shrunk }: BudgetState, now: EpochMs): number {
  if (shrunk.share === 1) return 1
  return Math.min(1, shrunk.share + (growth * (now - shrunk.at)) / policy.rate.windowMs)
}

/**
 * The state at `now`: what has ended is gone. A clock that was set back moves all times with it, so that each lease lasts
 * as long as it would have.
 */
export function moveTo(before: BudgetState, now: EpochMs): BudgetState {
  const state = now < before.at ? shift(before, now - before.at) : before
  return {
    ...state,
    at: now,
    all: { ...state.all, leases: expireLeases(state.all.leases, now) },
    writes: { ...state.writes, leases: expireLeases(state.writes.leases, now) },
    turns: liveTurns(state.turns, now),
  }
}

/** The same state on a clock that was moved by so many milliseconds: everything lasts as long as it would have. */
export function shift(state: BudgetState, by: Ms): BudgetState {
  const pool = ({ leases, pacedAt }: Pool): Pool => ({ leases: shiftLeases(leases, by), pacedAt: pacedAt + by })
  return {
    ...state,
    all: pool(state.all),
    writes: pool(state.writes),
    at: state.at + by,
    pausedUntil: state.pausedUntil + by,
    closedUntil: state.closedUntil + by,
    shrunk: { ...state.shrunk, at: state.shrunk.at + by },
    turns: state.turns.map((turn) => ({ ...turn, since: turn.since + by, until: turn.until + by })),
  }
}
