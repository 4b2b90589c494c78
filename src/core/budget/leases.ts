/**
 * Slots of a budget that are taken, by the moment at which they are free again. Moments are rounded up to a grain of the
 * window, so that ten thousand leases take no more room than a few hundred; rounding up keeps a slot a little longer,
 * never shorter. Plain data: any store can hold it as JSON.
 */
import type { EpochMs, Ms } from '../time.ts'

type Batch = { readonly freeAt: EpochMs; readonly count: number }

/** `batches` is in the order of `freeAt`, each moment once; `total` is the sum of their counts. */
export type Leases = { readonly total: number; readonly batches: readonly Batch[] }

export const noLeases: Leases = { total: 0, batches: [] }

/** The grain of a window: 1/600 of it, 100 ms for a minute. */
export function grainOf(windowMs: Ms): Ms {
  return windowMs / 600
}

/** A moment rounded up to the grain of a window. */
export function toGrain(at: EpochMs, windowMs: Ms): EpochMs {
  const grain = grainOf(windowMs)
  return Math.ceil(at / grain) * grain
}

export function addLease(leases: Leases, freeAt: EpochMs, count = 1): Leases {
  const at = position(leases.batches, freeAt)
  const there = leases.batches[at]
  const batches = leases.batches.slice()
  if (there?.freeAt === freeAt) batches[at] = { freeAt, count: there.count + count }
  else batches.splice(at, 0, { freeAt, count })
  return { total: leases.total + count, batches }
}

/** Without one lease that ends at `freeAt`; the same leases where there is none. */
export function removeLease(leases: Leases, freeAt: EpochMs): Leases {
  const at = position(leases.batches, freeAt)
  const there = leases.batches[at]
  if (there?.freeAt !== freeAt) return leases
  const batches = leases.batches.slice()
  if (there.count > 1) batches[at] = { freeAt, count: there.count - 1 }
  else batches.splice(at, 1)
  return { total: leases.total - 1, batches }
}

/** Without the leases that have ended. */
export function expireLeases(leases: Leases, now: EpochMs): Leases {
  let ended = 0
  let total = leases.total
  for (const batch of leases.batches) {
    if (batch.freeAt > now) break
    ended += 1
    total -= batch.count
  }
  return ended === 0 ? leases : { total, batches: leases.batches.slice(ended) }
}

/** The same leases on a clock that was moved by so many milliseconds. */
export function shiftLeases(leases: Leases, by: Ms): Leases {
  return { total: leases.total, batches: leases.batches.map(({ freeAt, count }) => ({ freeAt: freeAt + by, count })) }
}

/** Milliseconds until the next slot is free; 0 where none is taken. */
export function untilNextFree(leases: Leases, now: EpochMs): Ms {
  const oldest = leases.batches[0]
  return oldest === undefined ? 0 : Math.max(0, oldest.freeAt - now)
}

/** Where a moment is, or belongs, in the order. */
function position(batches: readonly Batch[], freeAt: EpochMs): number {
  let low = 0
  let high = batches.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((batches[middle]?.freeAt ?? Number.POSITIVE_INFINITY) < freeAt) low = middle + 1
    else high = middle
  }
  return low
}
