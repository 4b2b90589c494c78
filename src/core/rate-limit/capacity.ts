/**
 * A pool of slots, and how fast they may be spent. Pure.
 *
 * Leases alone keep every window right, fixed or sliding. But they would let a whole window's worth go at once, again
 * and again, and three kinds of servers punish that: those that weigh the window before into an estimate
 * (`before × (1 − f) + this`), those whose token bucket refills evenly, and those that count a request seconds after it
 * was sent. So:
 *
 * - While under a fifth of the slots is taken there is no pace at all: a small pass after a quiet window never waits.
 *   Then at most a fifth lies in the trailing window, and an estimate is wrong by little more than that fifth.
 * - From there on the free slots are spread evenly over the time until the oldest lease ends, and never faster than
 *   slots / window. So after a first burst the rest lasts for the rest of the window; and when the burst's slots come
 *   back all at once, they are drawn down at the even rate. With `C` sent in a server's window so far and `P` in the one
 *   before, `C` grows by at most slots·f and `P` is at most slots, so `P × (1 − f) + C` stays at the slots: under the
 *   limit by the margin that latency needs.
 */

import type { EpochMs, Ms } from '../time.ts'
import { type TakenSlots, noTakenSlots, msUntilNextFree } from './slots.ts'

/** `pacedAt`: the moment that the last grant counts as, for the pace. It may lie a little before the grant itself. */
export type Capacity = { readonly taken: TakenSlots; readonly pacedAt: EpochMs }

/** What the pool may be used for just now. `slots` is at least 1. */
export type Allowance = { readonly slots: number; readonly windowMs: Ms }

export const emptyCapacity: Capacity = { taken: noTakenSlots, pacedAt: 0 }

/** Slots that may be taken without a pace. */
export function burstSlots(slots: number): number {
  return Math.max(1, Math.floor(slots / 5))
}

/** Milliseconds until the pool may be asked again; 0 = a slot may be taken now. */
export function msUntilSlot(capacity: Capacity, { slots, windowMs }: Allowance, now: EpochMs): Ms {
  const taken = capacity.taken.total
  if (taken < burstSlots(slots)) return 0
  if (taken >= slots) return Math.max(1, msUntilNextFree(capacity.taken, now))
  return Math.max(0, capacity.pacedAt + paceIntervalMs(capacity.taken, slots, windowMs, now) - now)
}

/** What a grant at `now` counts as, for the pace of the next one. */
export function nextPacedAt(capacity: Capacity, { slots, windowMs }: Allowance, now: EpochMs): EpochMs {
  if (capacity.taken.total < burstSlots(slots)) return now
  // Timers fire late; without this catching up, each lateness would be lost for good.
  const catchUpMs = windowMs / 120
  return Math.max(now - catchUpMs, Math.min(now, capacity.pacedAt + paceIntervalMs(capacity.taken, slots, windowMs, now)))
}

/** Milliseconds from one grant to the next. */
function paceIntervalMs(taken: TakenSlots, slots: number, windowMs: Ms, now: EpochMs): Ms {
  const free = Math.max(1, slots - taken.total)
  return Math.max(windowMs / slots, msUntilNextFree(taken, now) / free)
}
