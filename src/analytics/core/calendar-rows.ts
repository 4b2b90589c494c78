/** The rows that show analysts what the settings of a project say: its offsets, business hours, dates and targets. */

import type { Target } from '../../config/analytics-settings.ts'
import { createTimeZone, datePartsOf, dateText, localDayOf, startOfDay } from '../../values/days.ts'
import type { EpochSeconds, LocalDate } from '../../values/time.ts'
import { type CalendarSettings, createBusinessHours, firstOpening } from './calendar.ts'

export type TimeRange = { readonly from: EpochSeconds; readonly to: EpochSeconds }

/** From 2000 to the end of the year after next. */
export function calendarRange(now: EpochSeconds): TimeRange {
  const lastYear = new Date(now * 1000).getUTCFullYear() + 2
  return { from: firstOpening, to: Date.UTC(lastYear + 1, 0, 1) / 1000 }
}

export function calendarRows({ timeZone, hours, holidays }: CalendarSettings, { from, to }: TimeRange) {
  const zone = createTimeZone(timeZone)
  const business = createBusinessHours(zone, hours, holidays)
  const firstDay = localDayOf(zone, from)
  const days = Array.from({ length: localDayOf(zone, to - 1) - firstDay + 1 }, (_, n) => {
    const [day, date] = [firstDay + n, dateText(firstDay + n)]
    const [starts_at, ends_at] = [startOfDay(zone, day), startOfDay(zone, day + 1)]
    const parts = datePartsOf(day)
    const kinds = { is_weekend: parts.weekday > 5, is_holiday: date in holidays }
    const business_seconds = business.secondsBetween(starts_at, ends_at)
    return { date, starts_at, ends_at, ...parts, ...kinds, business_seconds }
  })
  const offsets = [...zone.offsetSpans(from, to)]
  return {
    zone_offsets: offsets
      .filter(({ offset }, n) => offset !== offsets[n - 1]?.offset)
      .map((span) => ({ from_s: span.from, offset_s: span.offset })),
    business_spans: business.spansBetween(from, to),
    // Pacific/Apia skipped 2011-12-30.
    dim_date: days.filter(({ starts_at, ends_at }) => starts_at < ends_at),
  }
}

/** Earlier than any wait. */
const fromTheBeginning: LocalDate = '1970-01-01'

/** A target without an end holds until another one of its name begins. */
export function slaRows(targets: readonly Target[]) {
  return targets.map(
    ({ name, clock, which, withinSeconds: target_seconds, inBusinessHours: in_business, from, to }) => {
      const from_date = from ?? fromTheBeginning
      const starts = targets.filter((other) => other.name === name).map((other) => other.from ?? fromTheBeginning)
      const ends = [to, ...starts.filter((date) => date > from_date)].filter((date) => date !== null)
      return { name, clock, which, target_seconds, in_business, from_date, to_date: ends.toSorted()[0] ?? null }
    },
  )
}
