/**
 * A budget's state as a short text, and back without loss. Taken slots are what makes it long: ten thousand of them are
 * some 600 batches at multiples of a grain, so each batch is written as its distance in grains from the batch before, and
 * its count. The stored keys `form`, `turns`, `era` and `shrunk` are older than the names in the code.
 */
import type { EpochMs, Ms } from '../../values/time.ts'
import { type BudgetPolicy, type BudgetState, wideMargins } from './budget.ts'
import type { SlotUsage } from './slot-usage.ts'
import { timeGrainMs } from './slots.ts'

/** Raised when an older text can no longer be read. */
const formatVersion = 1

export function encodeBudgetState(policy: BudgetPolicy, state: BudgetState): string {
  const { all, writes, waiters, generation, reduction, ...rest } = state
  return JSON.stringify({
    form: formatVersion,
    ...rest,
    era: generation,
    shrunk: reduction,
    all: encodeUsage(all, timeGrainMs(policy.rate.windowMs)),
    writes: encodeUsage(writes, timeGrainMs(policy.writeRate.windowMs)),
    turns: waiters.map(({ id, rank, since, until }) => [id, rank, since, until]),
  })
}

/** Null if the text is not of this format. */
export function decodeBudgetState(text: string): BudgetState | null {
  try {
    const { form, all, writes, turns, era: generation, shrunk: reduction, ...rest } = JSON.parse(text)
    if (form !== formatVersion) return null
    const waiters = (turns as EncodedWaiter[]).map(([id, rank, since, until]) => ({ id, rank, since, until }))
    const usages = { all: decodeUsage(all), writes: decodeUsage(writes) }
    // Earlier versions knew no margins.
    const learned = { margins: wideMargins, cautiousUntil: 0 }
    const state: BudgetState = { ...learned, ...rest, ...usages, generation, reduction, waiters }
    return isCompleteState(state) ? state : null
  } catch {
    return null
  }
}

/** Grain, pace, and `36 2*3 1 …`: in base 36, the grains since the batch before, and `*` the number of slots if not one. */
type EncodedUsage = readonly [grainMs: Ms, pacedAt: EpochMs, batches: string]

type EncodedWaiter = readonly [id: string, rank: number, since: EpochMs, until: EpochMs]

function encodeUsage({ taken, pacedAt }: SlotUsage, grainMs: Ms): EncodedUsage {
  let before = 0
  const batches = taken.batches.map(({ freeAt, count }) => {
    const index = Math.round(freeAt / grainMs)
    // Not aligned: the rate had another grain, or the clock was shifted.
    const aligned = index * grainMs === freeAt && index >= before
    const distance = aligned ? (index - before).toString(36) : `@${freeAt}`
    if (aligned) before = index
    return count === 1 ? distance : `${distance}*${count.toString(36)}`
  })
  return [grainMs, pacedAt, batches.join(' ')]
}

function decodeUsage([grainMs, pacedAt, text]: EncodedUsage): SlotUsage {
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
  return { taken: { total, batches }, pacedAt }
}

function isCompleteState({ all, writes, waiters, reduction, margins, ...rest }: BudgetState): boolean {
  const { at, pausedUntil, closedUntil, cautiousUntil, generation, throttled } = rest
  const times = [at, pausedUntil, closedUntil, cautiousUntil, reduction.at, all.pacedAt, writes.pacedAt]
  const learned = [margins.all, margins.writes].flatMap((margin) => [
    margin.quietWindows,
    margin.refusedPercent,
    margin.windowFrom,
    margin.responses,
  ])
  const waiting = waiters.flatMap(({ rank, since, until }) => [rank, since, until])
  const numbers = [...times, generation, reduction.share, throttled, ...learned, ...waiting]
  return numbers.every(Number.isFinite) && [all, writes].every(hasCompleteSlots)
}

/** Copies nothing, as there may be hundreds of batches in each text that is decoded. */
function hasCompleteSlots({ taken }: SlotUsage): boolean {
  return taken.batches.every(({ freeAt, count }) => Number.isFinite(freeAt) && Number.isFinite(count))
}
