/**
 * The taken slots of a budget, by the time at which they are free again, and the pace of the free ones. Times are rounded
 * up to a grain of the window, so that ten thousand slots need no more space than a few hundred; rounding up keeps a slot
 * a little longer, never shorter.
 * Plain data: any store can hold it as JSON.
 */
import type { EpochMs, Ms } from '../../values/time.ts'

type SlotBatch = { readonly freeAt: EpochMs; readonly count: number }

/** `batches` is in the order of `freeAt`, each time once; `total` is the sum of their counts. */
type TakenSlots = { readonly total: number; readonly batches: readonly SlotBatch[] }

export const noTakenSlots: TakenSlots = { total: 0, batches: [] }

/** The grain of a window: 1/600 of it, 100 ms for a minute. */
export const timeGrainMs = (windowMs: Ms): Ms => windowMs / 600

export function roundUpToGrain(at: EpochMs, windowMs: Ms): EpochMs {
  const grain = timeGrainMs(windowMs)
  return Math.ceil(at / grain) * grain
}

/** With `count` slots more that end at `freeAt`; -1: with one less, unchanged if there is none. */
export function addSlots(taken: TakenSlots, freeAt: EpochMs, count = 1): TakenSlots {
  const index = batchIndex(taken.batches, freeAt)
  const batch = taken.batches[index]
  const before = batch?.freeAt === freeAt ? batch.count : 0
  const after = before + count
  if (after < 0) return taken
  const batches = taken.batches.toSpliced(index, before > 0 ? 1 : 0, ...(after > 0 ? [{ freeAt, count: after }] : []))
  return { total: taken.total + count, batches }
}

export const removeSlot = (taken: TakenSlots, freeAt: EpochMs): TakenSlots => addSlots(taken, freeAt, -1)

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
function msUntilNextFree(taken: TakenSlots, now: EpochMs): Ms {
  const earliest = taken.batches[0]
  return earliest === undefined ? 0 : Math.max(0, earliest.freeAt - now)
}

/** The index at which a time is, or belongs. */
function batchIndex(batches: readonly SlotBatch[], freeAt: EpochMs): number {
  const index = batches.findIndex((batch) => batch.freeAt >= freeAt)
  return index === -1 ? batches.length : index
}

/** `pacedAt`: the time from which the pace of the next grant is counted. It may be a little before the last grant. */
export type SlotUsage = { readonly taken: TakenSlots; readonly pacedAt: EpochMs }

/** How many slots there are now. `slots` is at least 1. */
export type SlotLimit = { readonly slots: number; readonly windowMs: Ms }

export const emptyUsage: SlotUsage = { taken: noTakenSlots, pacedAt: 0 }

/** How many slots may be taken without a pace. */
export const burstSlots = (slots: number): number => Math.max(1, Math.floor(slots / 5))

/**
 * Milliseconds until a slot may be free; 0 = a slot may be taken now.
 *
 * Slots alone keep every window right, fixed or sliding. But they would let a whole window's worth of requests go at once,
 * again and again, and three kinds of servers punish that: those that estimate a sliding window from two fixed ones
 * (`before × (1 − f) + this`), those whose token bucket refills evenly, and those that count a request seconds after it
 * was sent. So:
 *
 * - While under a fifth of the slots is taken there is no pace at all: a small sync run after a quiet window never waits.
 *   Then at most a fifth is in the trailing window, and an estimate is wrong by little more than that fifth.
 * - From there on the free slots are spread evenly over the time until the oldest slot is free again, and never faster
 *   than slots / window. So after a first burst the remaining slots last for the remaining window; and when the slots of
 *   the burst come back all at once, they are used at the even rate. With `C` sent in a server's window so far and `P` in
 *   the one before, `C` grows by at most slots·f and `P` is at most slots, so `P × (1 − f) + C` stays at the slots: under
 *   the limit by the margin that latency needs.
 */
export function msUntilSlot(usage: SlotUsage, { slots, windowMs }: SlotLimit, now: EpochMs): Ms {
  const taken = usage.taken.total
  if (taken < burstSlots(slots)) return 0
  if (taken >= slots) return Math.max(1, msUntilNextFree(usage.taken, now))
  return Math.max(0, usage.pacedAt + paceIntervalMs(usage.taken, slots, windowMs, now) - now)
}

/** The time from which the pace after a grant at `now` is counted. */
export function nextPacedAt(usage: SlotUsage, { slots, windowMs }: SlotLimit, now: EpochMs): EpochMs {
  if (usage.taken.total < burstSlots(slots)) return now
  // Timers fire late; without catching up, each delay would be lost capacity.
  const catchUpMs = windowMs / 120
  return Math.max(now - catchUpMs, Math.min(now, usage.pacedAt + paceIntervalMs(usage.taken, slots, windowMs, now)))
}

function paceIntervalMs(taken: TakenSlots, slots: number, windowMs: Ms, now: EpochMs): Ms {
  const free = Math.max(1, slots - taken.total)
  return Math.max(windowMs / slots, msUntilNextFree(taken, now) / free)
}
