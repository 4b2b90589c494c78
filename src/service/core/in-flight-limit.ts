/**
 * How many requests may be in flight at once. A 429 soon after the pause for another one shows that
 * sending later did not help, so one less than were in flight are sent side by side. One more is
 * tried after a while without a 429, later each time that this was wrong. Per process. Pure.
 */
import type { EpochMs, Ms } from '../../values/time.ts'

export type InFlightLimit = {
  /** Infinity: none is known. */
  readonly most: number
  /** Until when requests pause for the last 429. */
  readonly pausedUntil: EpochMs
  /** Whether that 429 lowered the limit. */
  readonly isLowered: boolean
  /** Responses since then. */
  readonly answered: number
  /** When one more is tried. */
  readonly raisedAt: EpochMs
  /** How long the limit stays without a 429. */
  readonly holdMs: Ms
}

export const noInFlightLimit: InFlightLimit = {
  most: Number.POSITIVE_INFINITY,
  pausedUntil: Number.NEGATIVE_INFINITY,
  isLowered: false,
  answered: Number.POSITIVE_INFINITY,
  raisedAt: Number.POSITIVE_INFINITY,
  holdMs: 60_000,
}

/** No more are sent side by side anyway. */
const unlimitedFrom = 24
const maxHoldMs: Ms = 30 * 60_000
/** After more responses, a 429 is about how many requests were sent, not about how many at once. */
const fewResponses = 30

/** `beside`: in flight when the refused request was sent, with itself. `waitMs`: all pause. */
export function lowerLimit(
  limit: InFlightLimit,
  now: EpochMs,
  beside: number,
  waitMs: Ms,
): InFlightLimit {
  const { most, holdMs } = limit
  const pausedUntil = Math.max(limit.pausedUntil, now + waitMs)
  const lowered = Math.max(1, Math.min(most, beside - 1))
  // They were under way together, so the one that was sent first says most.
  if (now < limit.pausedUntil)
    return { ...limit, pausedUntil, most: limit.isLowered ? lowered : most }
  const isLowered = beside > 1 && (limit.answered < fewResponses || beside >= most)
  const paused = { ...limit, pausedUntil, isLowered, answered: 0 }
  if (!isLowered) return paused
  const nextHoldMs = Number.isFinite(most) ? Math.min(maxHoldMs, 2 * holdMs) : holdMs
  return { ...paused, most: lowered, holdMs: nextHoldMs, raisedAt: pausedUntil + nextHoldMs }
}

export function countAnswer(limit: InFlightLimit): InFlightLimit {
  return { ...limit, answered: limit.answered + 1 }
}

export function raiseLimit(limit: InFlightLimit, now: EpochMs): InFlightLimit {
  if (now < limit.raisedAt) return limit
  const most = limit.most + 1
  return {
    ...limit,
    most: most >= unlimitedFrom ? Number.POSITIVE_INFINITY : most,
    raisedAt: now + limit.holdMs,
  }
}
