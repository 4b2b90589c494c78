/** How long, and how often. */
import type { Ms } from '../../core/time.ts'

/** What the guard saw is believed for so long. */
export const guardValidMs: Ms = 20_000

/** Sent so often without a readable answer, it is for a person to look at. */
export const maxSends = 5

/** After the n-th try in a row that came to nothing, in whole milliseconds; `chance`: 0 to below 1. */
export function backOffMs(tries: number, jitter: number): Ms {
  return Math.round(Math.min(60_000, 500 * 2 ** Math.min(tries, 10)) * (0.5 + jitter / 2))
}

/**
 * It must have been looked for in vain as often before it goes once more, with a rest between. That twice does no harm is
 * not enough: done late, the first one would undo what came behind it.
 */
export const verificationsNeeded = 2
