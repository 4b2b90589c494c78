/**
 * A budget's state as a short text, and back without loss. Leases are what makes it long: ten thousand of them lie in some
 * 600 batches at multiples of a grain, so each batch is the distance from the one before in grains, and its count.
 */

import type { EpochMs, Ms } from '../time.ts'
import type { BudgetPolicy, BudgetState } from './budget.ts'
import { timeGrainMs, type TakenSlots } from './slots.ts'
import type { Capacity } from './capacity.ts'

/** Raised when a text of the one kind cannot be read as the other. */
const formatVersion = 1

export function encodeBudgetState(policy: BudgetPolicy, state: BudgetState): string {
  const { all, writes, waiters: turns, ...rest } = state
  return JSON.stringify({
    form: formatVersion,
    ...rest,
    all: encodeCapacity(all, timeGrainMs(policy.rate.windowMs)),
    writes: encodeCapacity(writes, timeGrainMs(policy.writeRate.windowMs)),
    turns: turns.map(({ holder, rank: lane, since, until }) => [holder, lane, since, until]),
  })
}

/** Null where it is not a text of this form. */
export function decodeBudgetState(text: string): BudgetState | null {
  try {
    const { form: found, all, writes, turns, ...rest } = JSON.parse(text)
    if (found !== formatVersion) return null
    const state: BudgetState = {
      ...rest,
      all: decodeCapacity(all),
      writes: decodeCapacity(writes),
      waiters: (turns as [string, number, number, number][]).map(([holder, lane, since, until]) => ({ holder, lane, since, until })),
    }
    return isCompleteState(state) ? state : null
  } catch {
    return null
  }
}

/** Grain, pace, and `36 2*3 1 …`: in base 36, so many grains after the batch before, `*` so many leases where not one. */
type EncodedCapacity = readonly [grainMs: Ms, pacedAt: EpochMs, batches: string]

function encodeCapacity({ taken: leases, pacedAt }: Capacity, grainMs: Ms): EncodedCapacity {
  let before = 0
  const batches = leases.batches.map(({ freeAt, count }) => {
    const index = Math.round(freeAt / grainMs)
    // Another grain than that of the rate as it is now, or a clock that was moved.
    const aligned = index * grainMs === freeAt && index >= before
    const distance = aligned ? (index - before).toString(36) : `@${freeAt}`
    if (aligned) before = index
    return count === 1 ? distance : `${distance}*${count.toString(36)}`
  })
  return [grainMs, pacedAt, batches.join(' ')]
}

function decodeCapacity([grainMs, pacedAt, text]: EncodedCapacity): Capacity {
  let before = 0
  let total = 0
  const batches = (text === '' ? [] : text.split(' ')).map((word) => {
    const [distance = '', countText = '1'] = word.split('*')
    const count = Number.parseInt(countText, 36)
    total += count
    if (distance.startsWith('@')) return { freeAt: Number(distance.slice(1)), count }
    before += Number.parseInt(distance, 36)
    return { freeAt: before * grainMs, count }
  })
  const leases: TakenSlots = { total, batches }
  return { taken: leases, pacedAt }
}

function isCompleteState({ all, writes, waiters: turns, shrunk, ...rest }: BudgetState): boolean {
  const { at, pausedUntil, closedUntil, era, throttled } = rest
  const numbers = [at, pausedUntil, closedUntil, era, throttled, shrunk.at, shrunk.share, all.pacedAt, writes.pacedAt]
  const leases = [all, writes].flatMap((pool) => pool.taken.batches.flatMap(({ freeAt, count }) => [freeAt, count]))
  const moments = turns.flatMap(({ rank: lane, since, until }) => [lane, since, until])
  return [...numbers, ...leases, ...moments].every(Number.isFinite)
}
