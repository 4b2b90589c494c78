/** How much clocks may differ, and what time it is if they do. */
import { daySeconds, type EpochSeconds, type Seconds } from './time.ts'

/** How much clocks may differ without a notice. A row that is further ahead counts as dated in the future. */
export const clockToleranceSeconds: Seconds = 60

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
