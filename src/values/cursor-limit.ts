/**
 * How far a row may move a cursor: to the earlier of the service's clock (the `Date` of a response) and this machine's
 * when the request was sent, because later rows may be dated anywhere after that. If a clock is far behind, rows are read
 * again, and none is missed.
 */
import { daySeconds, type EpochMs, type EpochSeconds, type Seconds } from './time.ts'

/** How much clocks may differ without a notice. A row that is further ahead counts as dated in the future. */
export const clockToleranceSeconds: Seconds = 60

type ResponseTimes = {
  /** `Date` of the response; null if there is none. */
  readonly serverDate: EpochSeconds | null
  /** When the request was sent and when its response was complete, by this machine's clock. */
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
type ClockReadings = Readonly<Record<'localTime' | 'serviceTime' | 'newestMessage', EpochSeconds>>

/**
 * The current time if this machine's clock and the service's disagree: the earlier one, or the later one as far as the
 * newest message confirms it. The service's clock is trusted for one day beyond that. So a `Date` of 9999 requests no
 * future days, and one of 1970 leaves no days out.
 */
export function presentTime({ localTime, serviceTime, newestMessage }: ClockReadings): EpochSeconds {
  return serviceTime <= localTime
    ? Math.min(localTime, Math.max(serviceTime, newestMessage))
    : Math.min(serviceTime, Math.max(localTime, newestMessage + daySeconds))
}
