/**
 * The taken slots of a budget, by when they are free again, and the pace of the free ones. Times
 * are rounded up to a grain of the window, so that ten thousand slots need no more space than
 * hundreds.
 */
import type { EpochMs, Ms } from '../../values/time.ts'

/** With those that are free for no longer than the margin. `batches`: by `freeAt`, each once. */
type TakenSlots = {
  readonly total: number
  readonly batches: readonly { readonly freeAt: EpochMs; readonly count: number }[]
}

export const noTakenSlots: TakenSlots = { total: 0, batches: [] }

/** The grain of a window: 1/600 of it, 100 ms for a minute. */
export const timeGrainMs = (windowMs: Ms): Ms => windowMs / 600

export function roundUpToGrain(at: EpochMs, windowMs: Ms): EpochMs {
  const grain = timeGrainMs(windowMs)
  return Math.ceil(at / grain) * grain
}

/** With `count` slots more that end at `freeAt`; -1: with one less, unchanged if there is none. */
export function addSlots(taken: TakenSlots, freeAt: EpochMs, count = 1): TakenSlots {
  const index = batchIndex(taken, freeAt)
  const batch = taken.batches[index]
  const before = batch?.freeAt === freeAt ? batch.count : 0
  const after = before + count
  if (after < 0) return taken
  const batches = taken.batches.toSpliced(
    index,
    before > 0 ? 1 : 0,
    ...(after > 0 ? [{ freeAt, count: after }] : []),
  )
  return { total: taken.total + count, batches }
}

export const removeSlot = (taken: TakenSlots, freeAt: EpochMs): TakenSlots =>
  addSlots(taken, freeAt, -1)

/** Without those that were free at `until`. */
export function expireSlots(taken: TakenSlots, until: EpochMs): TakenSlots {
  let ended = 0
  let total = taken.total
  for (const batch of taken.batches) {
    if (batch.freeAt > until) break
    ended += 1
    total -= batch.count
  }
  return ended === 0 ? taken : { total, batches: taken.batches.slice(ended) }
}

export const countTaken = (taken: TakenSlots, now: EpochMs): number => expireSlots(taken, now).total

export function shiftSlots(taken: TakenSlots, by: Ms): TakenSlots {
  return {
    total: taken.total,
    batches: taken.batches.map(({ freeAt, count }) => ({ freeAt: freeAt + by, count })),
  }
}

/** Milliseconds until the next slot is free; 0 if none is taken. */
function msUntilNextFree({ batches }: TakenSlots, now: EpochMs): Ms {
  const next = batches.find(({ freeAt }) => freeAt > now)
  return next === undefined ? 0 : next.freeAt - now
}

function batchIndex({ batches }: TakenSlots, freeAt: EpochMs): number {
  const index = batches.findIndex((batch) => batch.freeAt >= freeAt)
  return index === -1 ? batches.length : index
}

/** `pacedAt`: from which the pace of the next grant counts; a little before the last grant. */
export type SlotUsage = { readonly taken: TakenSlots; readonly pacedAt: EpochMs }

/** Slots now, at least 1; `limit`: within a window that is longer by `marginMs`, no fewer. */
export type SlotLimit = {
  readonly slots: number
  readonly limit: number
  /** How many of them may be taken without a pace. */
  readonly burst: number
  readonly windowMs: Ms
  readonly marginMs: Ms
}

export const emptyUsage: SlotUsage = { taken: noTakenSlots, pacedAt: 0 }

export const burstSlots = (slots: number): number => Math.max(1, Math.floor(slots / 5))

/**
 * Milliseconds until a slot may be free; 0 = a slot may be taken now.
 *
 * Slots alone keep every window right, fixed or sliding. But they would let a whole window's worth
 * of requests go at once, again and again, and three kinds of servers punish that: those that
 * estimate a sliding window from two fixed ones (`before × (1 − f) + this`), those whose token
 * bucket refills evenly, and those that count a request seconds after it was sent. So:
 *
 * - While under a fifth of the slots is taken there is no pace at all: a small sync run after a
 *   quiet window never waits. Then at most a fifth is in the trailing window, and an estimate is
 *   wrong by little more than that fifth. Not after a 429, as a bucket may hold less than a fifth.
 * - From there on the free slots are spread evenly over the time until the oldest slot is free
 *   again, and never faster than a hundredth above slots / window. So after a first burst the
 *   remaining slots last for the remaining window; and when the slots of the burst come back all at
 *   once, they are used at the even rate. With `C` sent in a server's window so far and `P` in the
 *   one before, `C` grows by at most 1.01 × slots·f and `P` is at most slots, so that `P × (1 − f)
 *   + C` is at most 1.01 × slots: under the limit by the rest of the margin, which latency needs.
 */
export function msUntilSlot(usage: SlotUsage, limit: SlotLimit, now: EpochMs): Ms {
  return Math.max(msUntilWithinLimit(usage.taken, limit, now), msUntilPaced(usage, limit, now))
}

function msUntilWithinLimit(
  { total, batches }: TakenSlots,
  { limit, marginMs }: SlotLimit,
  now: EpochMs,
): Ms {
  const [oldest] = batches
  return total < limit || oldest === undefined ? 0 : Math.max(1, oldest.freeAt + marginMs - now)
}

function msUntilPaced(usage: SlotUsage, limit: SlotLimit, now: EpochMs): Ms {
  const taken = countTaken(usage.taken, now)
  if (taken < limit.burst) return 0
  if (taken >= limit.slots) return Math.max(1, msUntilNextFree(usage.taken, now))
  return Math.max(0, usage.pacedAt + paceIntervalMs(usage.taken, limit, now) - now)
}

/** The time from which the pace after a grant at `now` is counted. */
export function nextPacedAt(usage: SlotUsage, limit: SlotLimit, now: EpochMs): EpochMs {
  if (countTaken(usage.taken, now) < limit.burst) return now
  // Timers fire late; without catching up, each delay would be lost capacity.
  const catchUpMs = limit.windowMs / 120
  return Math.max(
    now - catchUpMs,
    Math.min(now, usage.pacedAt + paceIntervalMs(usage.taken, limit, now)),
  )
}

/** What a delay of more than the time for catching up has cost is made up for a little later. */
const fasterThanEven = 1.01

function paceIntervalMs(taken: TakenSlots, { slots, windowMs }: SlotLimit, now: EpochMs): Ms {
  const free = Math.max(1, slots - countTaken(taken, now))
  return Math.max(windowMs / (fasterThanEven * slots), msUntilNextFree(taken, now) / free)
}
