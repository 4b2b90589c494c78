/** The calendar of a project, from its time zone and business hours. */
import { daySeconds, type EpochSeconds, hourSeconds } from '../time.ts'
import type { AnalyticsSettings } from './analytics-settings.ts'
import { createBusinessHours } from './business-hours.ts'
import type { Calendar } from './calendar.ts'
import { dateText } from './local-date.ts'
import { createTimeZone } from './time-zone.ts'

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
