/**
 * How far a row may move a cursor: to the earlier of the service's clock (the `Date` of an answer) and this machine's when
 * the request was sent, because later rows may be dated anywhere after that. A clock that is far behind makes rows be read
 * again; none is missed.
 */
import { day, type EpochMs, type Seconds } from './time.ts'

/** Seconds by which clocks may differ without a notice. A row that is further ahead counts as dated in the future. */
export const clockTolerance: Seconds = 60

export type ResponseTimes = {
  /** `Date` of the answer; null if there is none. */
  readonly servedAt: Seconds | null
  /** When the request was sent and when its answer was complete, by this machine's clock. */
  readonly askedAt: EpochMs
  readonly answeredAt: EpochMs
}

export function toCursorLimit({ servedAt, askedAt, answeredAt }: ResponseTimes): Seconds {
  const here = Math.floor(askedAt / 1000)
  if (servedAt === null) return here
  // Fractions do not matter: consecutive requests overlap by a second.
  const took = Math.max(0, Math.floor((answeredAt - askedAt) / 1000))
  return Math.min(here, servedAt - took)
}

/** `newestMessage`: time of the newest message that any row shows. */
export type ClockReadings = {
  readonly localTime: Seconds
  readonly serviceTime: Seconds
  readonly newestMessage: Seconds
}

/**
 * The current time if this machine's clock and the service's disagree: the earlier one, or the later one as far as the
 * newest message confirms it. The service's clock is trusted for one day beyond that. So a `Date` of 9999 requests no
 * future days, and one of 1970 leaves no days out.
 */
export function presentTime({ localTime: here, serviceTime: there, newestMessage }: ClockReadings): Seconds {
  return there <= here
    ? Math.min(here, Math.max(there, newestMessage))
    : Math.min(there, Math.max(here, newestMessage + day))
}
