/**
 * A budget's state as a short text, and back without loss. Leases are what makes it long: ten thousand of them lie in some
 * 600 batches at multiples of a grain, so each batch is the distance from the one before in grains, and its count.
 */

import type { EpochMs, Ms } from '../time.ts'
import type { BudgetPolicy, BudgetState } from './budget.ts'
import { grainOf, type Leases } from './leases.ts'
import type { Pool } from './pool.ts'

/** Raised when a text of the one kind cannot be read as the other. */
const form = 1

export function toText(policy: BudgetPolicy, state: BudgetState): string {
  const { all, writes, turns, ...rest } = state
  return JSON.stringify({
    form,
    ...rest,
    all: toPoolText(all, grainOf(policy.rate.windowMs)),
    writes: toPoolText(writes, grainOf(policy.writeRate.windowMs)),
    turns: turns.map(({ holder, lane, since, until }) => [holder, lane, since, until]),
  })
}

/** Null where it is not a text of this form. */
export function fromText(text: string): BudgetState | null {
  try {
    const { form: found, all, writes, turns, ...rest } = JSON.parse(text)
    if (found !== form) return null
    const state: BudgetState = {
      ...rest,
      all: fromPoolText(all),
      writes: fromPoolText(writes),
      turns: (turns as [string, number, number, number][]).map(([holder, lane, since, until]) => ({ holder, lane, since, until })),
    }
    return isWhole(state) ? state : null
  } catch {
    return null
  }
}

/** Grain, pace, and `36 2*3 1 …`: in base 36, so many grains after the batch before, `*` so many leases where not one. */
type PoolText = readonly [grainMs: Ms, pacedAt: EpochMs, batches: string]

function toPoolText({ leases, pacedAt }: Pool, grainMs: Ms): PoolText {
  let before = 0
  const batches = leases.batches.map(({ freeAt, count }) => {
    const index = Math.round(freeAt / grainMs)
    // Another grain than that of the rate as it is now, or a clock that was moved.
    const aligned = index * grainMs === freeAt && index >= before
    const place = aligned ? (index - before).toString(36) : `@${freeAt}`
    if (aligned) before = index
    return count === 1 ? place : `${place}*${count.toString(36)}`
  })
  return [grainMs, pacedAt, batches.join(' ')]
}

function fromPoolText([grainMs, pacedAt, text]: PoolText): Pool {
  let before = 0
  let total = 0
  const batches = (text === '' ? [] : text.split(' ')).map((word) => {
    const [place = '', times = '1'] = word.split('*')
    const count = Number.parseInt(times, 36)
    total += count
    if (place.startsWith('@')) return { freeAt: Number(place.slice(1)), count }
    before += Number.parseInt(place, 36)
    return { freeAt: before * grainMs, count }
  })
  const leases: Leases = { total, batches }
  return { leases, pacedAt }
}

function isWhole({ all, writes, turns, shrunk, ...rest }: BudgetState): boolean {
  const { at, pausedUntil, closedUntil, era, throttled } = rest
  const numbers = [at, pausedUntil, closedUntil, era, throttled, shrunk.at, shrunk.share, all.pacedAt, writes.pacedAt]
  const leases = [all, writes].flatMap((pool) => pool.leases.batches.flatMap(({ freeAt, count }) => [freeAt, count]))
  const moments = turns.flatMap(({ lane, since, until }) => [lane, since, until])
  return [...numbers, ...leases, ...moments].every(Number.isFinite)
}
