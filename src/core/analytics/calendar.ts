/** A project's local time and business hours, as functions of seconds since 1970. */
import { daySeconds, type EpochSeconds, hourSeconds, type Seconds } from '../time.ts'
import type { AnalyticsSettings } from './analytics-settings.ts'
import { createBusinessHours } from './business-hours.ts'
import { dateText } from './local-date.ts'
import { createTimeZone } from './time-zone.ts'

export type Calendar = {
  /** The local date, `YYYY-MM-DD`. */
  readonly dateOf: (at: EpochSeconds) => string
  /** The local hour, 0 to 23. */
  readonly hourOf: (at: EpochSeconds) => number
  /** The end of the stretch of one local hour that `at` is in. */
  readonly hourEnd: (at: EpochSeconds) => EpochSeconds
  /** Seconds within business hours from `from` to `to`; negative if `to` is the earlier one. */
  readonly businessSeconds: (from: EpochSeconds, to: EpochSeconds) => Seconds
}

/** `timeZone`: an IANA name, already checked. */
export type CalendarSettings = Pick<AnalyticsSettings, 'hours' | 'holidays'> & { readonly timeZone: string }

/** Gives an answer for every time, in any year. */
export function createCalendar({ timeZone, hours, holidays }: CalendarSettings): Calendar {
  const zone = createTimeZone(timeZone)
  const business = createBusinessHours(zone, hours, holidays)
  const localSeconds = (at: EpochSeconds) => at + zone.offsetSpanAt(at).offset
  const dates = new Map<number, string>()
  const dateOf = (at: EpochSeconds) => {
    const day = Math.floor(localSeconds(at) / daySeconds)
    const known = dates.get(day)
    if (known !== undefined) return known
    const text = dateText(day)
    dates.set(day, text)
    return text
  }
  const hourOf = (at: EpochSeconds) => {
    const local = localSeconds(at)
    return Math.floor(local / hourSeconds) - Math.floor(local / daySeconds) * 24
  }
  const hourEnd = (at: EpochSeconds) => {
    const { to, offset } = zone.offsetSpanAt(at)
    return Math.min(to, (Math.floor((at + offset) / hourSeconds) + 1) * hourSeconds - offset)
  }
  return { dateOf, hourOf, hourEnd, businessSeconds: business.secondsBetween }
}
