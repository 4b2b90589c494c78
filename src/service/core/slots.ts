/**
 * The taken slots of a budget, by the time at which they are free again. Times are rounded up to a grain of the window, so
 * that ten thousand slots need no more space than a few hundred; rounding up keeps a slot a little longer, never shorter.
 * Plain data: any store can hold it as JSON.
 */
import type { EpochMs, Ms } from '../../values/time.ts'

type SlotBatch = { readonly freeAt: EpochMs; readonly count: number }

/** `batches` is in the order of `freeAt`, each time once; `total` is the sum of their counts. */
export type TakenSlots = { readonly total: number; readonly batches: readonly SlotBatch[] }

export const noTakenSlots: TakenSlots = { total: 0, batches: [] }

/** The grain of a window: 1/600 of it, 100 ms for a minute. */
export function timeGrainMs(windowMs: Ms): Ms {
  return windowMs / 600
}

/** A time rounded up to the grain of a window. */
export function roundUpToGrain(at: EpochMs, windowMs: Ms): EpochMs {
  const grain = timeGrainMs(windowMs)
  return Math.ceil(at / grain) * grain
}

export function addSlots(taken: TakenSlots, freeAt: EpochMs, count = 1): TakenSlots {
  const index = batchIndex(taken.batches, freeAt)
  const batch = taken.batches[index]
  const batches = taken.batches.slice()
  if (batch?.freeAt === freeAt) batches[index] = { freeAt, count: batch.count + count }
  else batches.splice(index, 0, { freeAt, count })
  return { total: taken.total + count, batches }
}

/** Without one slot that ends at `freeAt`; unchanged if there is none. */
export function removeSlot(taken: TakenSlots, freeAt: EpochMs): TakenSlots {
  const index = batchIndex(taken.batches, freeAt)
  const batch = taken.batches[index]
  if (batch?.freeAt !== freeAt) return taken
  const batches = taken.batches.slice()
  if (batch.count > 1) batches[index] = { freeAt, count: batch.count - 1 }
  else batches.splice(index, 1)
  return { total: taken.total - 1, batches }
}

/** Without the slots that have ended. */
export function expireSlots(taken: TakenSlots, now: EpochMs): TakenSlots {
  let ended = 0
  let total = taken.total
  for (const batch of taken.batches) {
    if (batch.freeAt > now) break
    ended += 1
    total -= batch.count
  }
  return ended === 0 ? taken : { total, batches: taken.batches.slice(ended) }
}

/** The same slots on a clock that was shifted by `by` milliseconds. */
export function shiftSlots(taken: TakenSlots, by: Ms): TakenSlots {
  return { total: taken.total, batches: taken.batches.map(({ freeAt, count }) => ({ freeAt: freeAt + by, count })) }
}

/** Milliseconds until the next slot is free; 0 if none is taken. */
export function msUntilNextFree(taken: TakenSlots, now: EpochMs): Ms {
  const earliest = taken.batches[0]
  return earliest === undefined ? 0 : Math.max(0, earliest.freeAt - now)
}

/** The index at which a time is, or belongs. */
function batchIndex(batches: readonly SlotBatch[], freeAt: EpochMs): number {
  let low = 0
  let high = batches.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((batches[middle]?.freeAt ?? Number.POSITIVE_INFINITY) < freeAt) low = middle + 1
    else high = middle
  }
  return low
}
