/**
 * The margin: the share of a limit that is not used, in whole percent, and how it is learned. Pure.
 *
 * Slots alone never pass a limit that is counted exactly. The margin is for what we cannot see: a service that estimates
 * its window, counts in whole seconds, counts a request twice or after its response; a little use by another program. Most
 * services do none of that, so the margin narrows once many windows near the limit brought no 429, and is wide again with
 * the first 429. A window with few requests proves nothing.
 */
import type { EpochMs, Rate } from '../../values/time.ts'

/** Of requests, or of writes. */
export type LearnedMargin = {
  /** Windows near the limit without a 429, since the last 429 that the margin may explain. */
  readonly quietWindows: number
  /** The widest margin that was too narrow, as the service answered 429; 0: none was. */
  readonly refusedPercent: number
  /** The window that is being counted, and the responses in it. */
  readonly windowFrom: EpochMs
  readonly responses: number
}

export const widePercent = 5
const narrowPercent = 1
/** From then on each further quiet window makes the margin a percent narrower. */
const quietWindowsNeeded = 10
const quietWindowsForNarrow = quietWindowsNeeded + widePercent - narrowPercent - 1
/** A day at the limit. Then a margin that was too narrow is tried again. */
const quietWindowsToRetry = 1440
/** A window counts as near the limit if this share of its slots was used: less are used by slow responses. */
const nearLimitShare = 0.95

export const wideMargin: LearnedMargin = { quietWindows: 0, refusedPercent: 0, windowFrom: 0, responses: 0 }

export function marginPercent({ quietWindows, refusedPercent }: LearnedMargin): number {
  const earned = widePercent - Math.max(0, quietWindows - quietWindowsNeeded + 1)
  return Math.min(widePercent, Math.max(narrowPercent, earned, refusedPercent + 1))
}

/** A margin that was learned earlier. */
export function learnedMargin(percent: number, refusedPercent: number): LearnedMargin {
  const quietWindows = percent >= widePercent ? 0 : quietWindowsNeeded + widePercent - 1 - percent
  return { ...wideMargin, quietWindows, refusedPercent }
}

/** The slots of a limit with this margin (a share), at least one. */
export function slotsWithin({ requests }: Rate, margin: number): number {
  // The rounding keeps 0.95 × 600 from being 569.
  return Math.max(1, Math.floor(Math.round(requests * (1 - margin) * 1e6) / 1e6))
}

/** The service responded. `isEvidence`: the slots are not reduced, so that a full window is near the limit. */
export function afterResponse(before: LearnedMargin, rate: Rate, now: EpochMs, isEvidence: boolean): LearnedMargin {
  if (now < before.windowFrom + rate.windowMs) return { ...before, responses: before.responses + 1 }
  const slots = slotsWithin(rate, marginPercent(before) / 100)
  const isQuiet = isEvidence && before.responses >= nearLimitShare * slots
  const next = isQuiet ? afterQuietWindow(before) : before
  return { ...next, windowFrom: now, responses: 1 }
}

function afterQuietWindow(before: LearnedMargin): LearnedMargin {
  const quietWindows = before.quietWindows + 1
  if (quietWindows < quietWindowsToRetry) return { ...before, quietWindows }
  return { ...before, quietWindows: quietWindowsForNarrow, refusedPercent: Math.max(0, before.refusedPercent - 1) }
}

/**
 * The service answered 429 while `taken` slots were taken. With fewer than a wide margin leaves it was not the margin:
 * others use the key. With no more than that either, so the next narrower margin may be tried again later.
 */
export function afterThrottle(before: LearnedMargin, rate: Rate, now: EpochMs, taken: number): LearnedMargin {
  const counted = { windowFrom: now, responses: 0 }
  if (taken < slotsWithin(rate, widePercent / 100)) return { ...before, ...counted }
  const unusedPercent = Math.floor(100 * (1 - taken / rate.requests) + 1e-9)
  const refusedPercent = unusedPercent >= widePercent ? 0 : unusedPercent
  return { ...counted, quietWindows: 0, refusedPercent: Math.max(before.refusedPercent, refusedPercent) }
}
