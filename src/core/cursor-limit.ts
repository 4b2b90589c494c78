/**
 * How far a row may move a cursor: to the earlier of the service's clock (the `Date` of an answer) and this machine's when
 * the request was sent, because later rows may be dated anywhere after that. A clock that is far behind makes rows be read
 * again; none is missed.
 */
import { daySeconds, type EpochMs, type EpochSeconds } from './time.ts'

/** Seconds by which clocks may differ without a notice. A row that is further ahead counts as dated in the future. */
export const clockToleranceSeconds: EpochSeconds = 60

export type ResponseTimes = {
  /** `Date` of the answer; null if there is none. */
  readonly serverDate: EpochSeconds | null
  /** When the request was sent and when its answer was complete, by this machine's clock. */
  readonly requestedAt: EpochMs
  readonly receivedAt: EpochMs
}

export function toCursorLimit({ serverDate, requestedAt, receivedAt }: ResponseTimes): EpochSeconds {
  const localTime = Math.floor(requestedAt / 1000)
  if (serverDate === null) return localTime
  // Fractions do not matter: consecutive requests overlap by a second.
  const tookSeconds = Math.max(0, Math.floor((receivedAt - requestedAt) / 1000))
  return Math.min(localTime, serverDate - tookSeconds)
}

/** `newestMessage`: time of the newest message that any row shows. */
export type ClockReadings = {
  readonly localTime: EpochSeconds
  readonly serviceTime: EpochSeconds
  readonly newestMessage: EpochSeconds
}

/**
 * The current time if this machine's clock and the service's disagree: the earlier one, or the later one as far as the
 * newest message confirms it. The service's clock is trusted for one day beyond that. So a `Date` of 9999 requests no
 * future days, and one of 1970 leaves no days out.
 */
export function presentTime({ localTime: here, serviceTime: there, newestMessage }: ClockReadings): EpochSeconds {
  return there <= here
    ? Math.min(here, Math.max(there, newestMessage))
    : Math.min(there, Math.max(here, newestMessage + daySeconds))
}
