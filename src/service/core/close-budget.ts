/**
 * If the record of what was sent may have been lost, the budget closes, for all processes. Pure.
 *
 * One window would be too short: the service may count a request that was under way up to its
 * deadline later, which no process will ever record if its own died. So the budget stays closed as
 * if every slot had been taken just now and none ever got a response. All slots of the lost record
 * are free by then, so none of it is needed.
 */
import type { EpochMs, Ms } from '../../values/time.ts'
import { type BudgetState, initialBudgetState, shiftClock } from './budget.ts'
import type { BudgetPolicy } from './budget-policy.ts'
import type { RecordReading } from './budget-record.ts'
import { emptyUsage } from './slots.ts'

/** `before`: the newest known state. A pause and a reduced share last as long as from then. */
export function closeBudget(
  policy: BudgetPolicy,
  before: BudgetState,
  now: EpochMs,
  maxDurationMs: Ms,
): BudgetState {
  const windowMs = Math.max(policy.rate.windowMs, policy.writeRate.windowMs)
  return {
    ...shiftClock(before, now - before.at),
    all: emptyUsage,
    writes: emptyUsage,
    waiters: [],
    closedUntil: now + maxDurationMs + windowMs,
    generation: nextGeneration(before, now),
  }
}

/** The first state of a budget that was unused for so long that no earlier request can matter. */
export function startBudget(before: BudgetState, now: EpochMs): BudgetState {
  return { ...initialBudgetState, at: now, generation: nextGeneration(before, now) }
}

/** By the clock: a process that knows no earlier generations gets a later one. */
const nextGeneration = (before: BudgetState, now: EpochMs): number =>
  Math.max(before.generation + 1, Math.floor(now))

/** Tolerated difference of two clocks: a step of a time daemon, a slow response. */
const clockToleranceMs: Ms = 1000
/** Two free-running clocks drift apart by less than this share. */
const maxClockDrift = 1 / 1000

/**
 * Why the record cannot be trusted, for a person; null: it can. A newer generation: another process
 * closed the budget since, for whatever reason we would find now. `last`: what this process last
 * read, and how long ago by its own clock; `gainMs`: how far the store's clock ran ahead since an
 * earlier reading.
 */
export function invalidReason(
  {
    state,
    now,
    restarted,
  }: Omit<RecordReading, 'version' | 'text'> & {
    readonly state: BudgetState
  },
  last: {
    readonly state: BudgetState
    readonly now: EpochMs
    readonly agoMs: Ms
    readonly gainMs: Ms
  } | null,
  windowMs: Ms,
): string | null {
  if (restarted) return 'its store restarted, so recent requests may not be counted'
  const behindMs = state.at - now
  if (behindMs > clockToleranceMs)
    return `the clock of its store was set back by ${formatSeconds(behindMs)}`
  if (last === null || state.generation > last.state.generation) return null
  if (state.generation < last.state.generation || state.at < last.state.at)
    return 'its store holds an older state than the last one seen: a restored copy, or lost writes'
  const aheadMs = now - last.now - last.agoMs
  if (aheadMs > clockToleranceMs + maxClockDrift * last.agoMs)
    return `the clock of its store was set forward by ${formatSeconds(aheadMs)}`
  if (last.gainMs > toleratedGainMs(windowMs) + maxClockDrift * last.agoMs)
    return `the clock of its store ran ahead by ${formatSeconds(last.gainMs)}`
  return null
}

const formatSeconds = (ms: Ms): string => `${(ms / 1000).toFixed(1)} s`

/** The store's clock, and this process's clock before and after it was read. */
export type ClockReading = { readonly store: EpochMs; readonly from: Ms; readonly to: Ms }

/**
 * From one reference to the next: half a second of a minute. A window meets two such intervals at
 * most, and the default margin covers 1.2 s. 20 ms: our clock counts hundredths of a second.
 */
export const toleratedGainMs = (windowMs: Ms): Ms => Math.max(20, windowMs / 120)

/** How far the store's clock ran ahead at least: a slow reading looks like less. */
export function clockGainMs(reference: ClockReading, reading: ClockReading): Ms {
  return reading.store - reference.store - (reading.to - reference.from)
}

/** The reading with which later ones are compared: not older than a window. */
export function nextReference(
  reference: ClockReading,
  reading: ClockReading,
  windowMs: Ms,
): ClockReading {
  return reading.from - reference.from > windowMs ? reading : reference
}
