/**
 * How many slots are taken (usage), how many there are (limit), and the pace of the rest. Pure.
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

import type { EpochMs, Ms } from '../../values/time.ts'
import { msUntilNextFree, noTakenSlots, type TakenSlots } from './slots.ts'

/** `pacedAt`: the time from which the pace of the next grant is counted. It may be a little before the last grant. */
export type SlotUsage = { readonly taken: TakenSlots; readonly pacedAt: EpochMs }

/** How many slots there are now. `slots` is at least 1. */
export type SlotLimit = { readonly slots: number; readonly windowMs: Ms }

export const emptyUsage: SlotUsage = { taken: noTakenSlots, pacedAt: 0 }

/** How many slots may be taken without a pace. */
export function burstSlots(slots: number): number {
  return Math.max(1, Math.floor(slots / 5))
}

/** Milliseconds until a slot may be free; 0 = a slot may be taken now. */
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

/** Milliseconds from one grant to the next. */
function paceIntervalMs(taken: TakenSlots, slots: number, windowMs: Ms, now: EpochMs): Ms {
  const free = Math.max(1, slots - taken.total)
  return Math.max(windowMs / slots, msUntilNextFree(taken, now) / free)
}
