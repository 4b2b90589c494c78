/**
 * How far a row may carry a cursor: to the smaller of the two clocks, the service's (the `Date` of an answer) and this
 * machine's, at the moment of asking. What comes from then on may be dated anywhere beyond. A clock that is far behind
 * costs rows that are read again, never rows that are missed.
 */
import { day, type EpochMs, type Seconds } from './time.ts'

/** Seconds by which clocks may differ without a word: a row that is further ahead is dated ahead. */
export const clockTolerance: Seconds = 60

export type ResponseTimes = {
  /** `Date` of the answer, null where there is none. */
  readonly servedAt: Seconds | null
  /** When the request left and when its answer was here, by this machine's clock. */
  readonly askedAt: EpochMs
  readonly answeredAt: EpochMs
}

export function toCursorLimit({ servedAt, askedAt, answeredAt }: ResponseTimes): Seconds {
  const here = Math.floor(askedAt / 1000)
  if (servedAt === null) return here
  // Part of a second is no matter: every question overlaps by one.
  const took = Math.max(0, Math.floor((answeredAt - askedAt) / 1000))
  return Math.min(here, servedAt - took)
}

/** `newestMessage`: when the newest message was written that any row shows. */
export type ClockReadings = {
  readonly localTime: Seconds
  readonly serviceTime: Seconds
  readonly newestMessage: Seconds
}

/**
 * What time it is, where this machine's clock and the service's may disagree: the earlier one's, or the later one's as far
 * as a message proves that it has come to that; the service's is believed for a day without one. So neither a `Date` of
 * 9999 asks for days that have not come, nor does one of 1970 leave days out.
 */
export function presentTime({ localTime: here, serviceTime: there, newestMessage }: ClockReadings): Seconds {
  return there <= here
    ? Math.min(here, Math.max(there, newestMessage))
    : Math.min(there, Math.max(here, newestMessage + day))
}
