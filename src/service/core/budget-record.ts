/** Where a shared budget is stored: a text to read and compare-and-set, with the store's clock. */
import type { EpochMs, Ms } from '../../values/time.ts'
import { type BudgetState, initialBudgetState } from './budget.ts'
import type { BudgetPolicy } from './budget-policy.ts'
import { type SlotUsage, timeGrainMs } from './slots.ts'

/** What the record holds, and the store's clock when it was read. */
export type RecordReading = {
  readonly now: EpochMs
  /** Changes with every write; null: there is no record. */
  readonly version: string | null
  readonly text: string | null
  /** The store restarted after this was written, and may have lost later writes. */
  readonly restarted: boolean
}

/** Both reject if the store cannot be reached; the swap may then have been done. */
export type BudgetRecord = {
  readonly read: () => Promise<RecordReading>
  /**
   * Writes if nothing was written since `seen`, at most `maxSwapDelayMs` ago by the store's clock:
   * a suspended process must not commit an old decision. `reading`: what it holds afterwards.
   */
  readonly compareAndSet: (
    seen: RecordReading,
    text: string,
  ) => Promise<{ readonly swapped: boolean; readonly reading: RecordReading }>
}

export const maxSwapDelayMs: Ms = 1000

/** Apart from the budget, so that a process that finds no record knows whether one was lost. */
export type KeyUse = {
  /** Whether no process recorded a use within this time. */
  readonly isUnusedFor: (withinMs: Ms) => Promise<boolean>
  /** The key is about to be used. */
  readonly recordUse: () => Promise<void>
}

/** A use may be this much younger than its record. */
export const recordUseEveryMs: Ms = 30_000

/** Raised when an older text can no longer be read. */
const formatVersion = 1

/**
 * A short text, without loss. Ten thousand taken slots are some 600 batches at multiples of a
 * grain, so each is written as its distance from the one before, in grains, and its count.
 */
export function encodeBudgetState(
  policy: BudgetPolicy,
  { all, writes, ...rest }: BudgetState,
): string {
  return JSON.stringify({
    format: formatVersion,
    ...rest,
    all: encodeUsage(all, timeGrainMs(policy.rate.windowMs)),
    writes: encodeUsage(writes, timeGrainMs(policy.writeRate.windowMs)),
  })
}

/** Null if the text is not of this format. */
export function decodeBudgetState(text: string): BudgetState | null {
  try {
    const { format, all, writes, ...rest } = JSON.parse(text)
    if (format !== formatVersion) return null
    const state: BudgetState = { ...rest, all: decodeUsage(all), writes: decodeUsage(writes) }
    return isCompleteState(state) ? state : null
  } catch {
    return null
  }
}

/** `36 2*3 1 …`: in base 36, the grains since the batch before, and `*` the slots if not one. */
type EncodedUsage = readonly [grainMs: Ms, pacedAt: EpochMs, batches: string]

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

/** Every number is there: a damaged text may lack anything. */
function isCompleteState(state: BudgetState): boolean {
  const items = [state.waiters, state.all.taken.batches, state.writes.taken.batches].flat()
  const numbers = items.flatMap((item) =>
    Object.values(item).filter((value) => typeof value !== 'string'),
  )
  return hasNumbersOf(initialBudgetState, state) && numbers.every(Number.isFinite)
}

function hasNumbersOf(example: object, found: object): boolean {
  return Object.entries(example).every(([name, value]) => {
    const other: unknown = Object.hasOwn(found, name)
      ? found[name as keyof typeof found]
      : undefined
    return typeof value === 'object' ? hasNumbersOf(value, Object(other)) : Number.isFinite(other)
  })
}
