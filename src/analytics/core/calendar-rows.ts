/** The rows that show analysts what the settings of a project say: its offsets, business hours, dates and targets. */

import type { Target } from '../../config/analytics-settings.ts'
import { createTimeZone, datePartsOf, dateText, localDayOf, startOfDay, type TimeZone } from '../../values/days.ts'
import type { EpochSeconds, LocalDate, Seconds } from '../../values/time.ts'
import { type BusinessHours, type CalendarSettings, createBusinessHours, firstOpening } from './calendar.ts'

export type TimeRange = { readonly from: EpochSeconds; readonly to: EpochSeconds }

/** From 2000 to the end of the year after next. */
export function calendarRange(now: EpochSeconds): TimeRange {
  const lastYear = new Date(now * 1000).getUTCFullYear() + 2
  return { from: firstOpening, to: Date.UTC(lastYear + 1, 0, 1) / 1000 }
}

export function calendarRows({ timeZone, hours, holidays }: CalendarSettings, range: TimeRange) {
  const zone = createTimeZone(timeZone)
  const business = createBusinessHours(zone, hours, holidays)
  return {
    zone_offsets: offsetRows(zone, range),
    business_spans: business.spansBetween(range.from, range.to),
    dim_date: dateRows(zone, business, new Set(Object.keys(holidays)), range),
  }
}

function offsetRows(zone: TimeZone, { from, to }: TimeRange) {
  const rows: { readonly from_s: EpochSeconds; readonly offset_s: Seconds }[] = []
  for (const span of zone.offsetSpans(from, to)) {
    if (rows.at(-1)?.offset_s !== span.offset) rows.push({ from_s: span.from, offset_s: span.offset })
  }
  return rows
}

function dateRows(zone: TimeZone, business: BusinessHours, holidays: ReadonlySet<string>, { from, to }: TimeRange) {
  const rows: ReturnType<typeof dateRow>[] = []
  const last = localDayOf(zone, to - 1)
  for (let day = localDayOf(zone, from), starts = startOfDay(zone, day); day <= last; day++) {
    const ends = startOfDay(zone, day + 1)
    const date = dateText(day)
    // Pacific/Apia skipped 2011-12-30.
    if (starts < ends) rows.push(dateRow(day, { from: starts, to: ends }, business, holidays.has(date)))
    starts = ends
  }
  return rows
}

function dateRow(
  day: number,
  { from: starts_at, to: ends_at }: TimeRange,
  business: BusinessHours,
  isHoliday: boolean,
) {
  const parts = datePartsOf(day)
  return {
    date: dateText(day),
    starts_at,
    ends_at,
    ...parts,
    is_weekend: parts.weekday > 5,
    is_holiday: isHoliday,
    business_seconds: business.secondsBetween(starts_at, ends_at),
  }
}

/** Earlier than any wait. */
const fromTheBeginning: LocalDate = '1970-01-01'

/** A target without an end holds until another one of its name begins. */
export function slaRows(targets: readonly Target[]) {
  return targets.map((target) => ({
    name: target.name,
    clock: target.clock,
    which: target.which,
    target_seconds: target.withinSeconds,
    in_business: target.inBusinessHours,
    from_date: startOf(target),
    to_date: earliest([target.to, nextStart(target, targets)]),
  }))
}

function startOf({ from }: Target): LocalDate {
  return from ?? fromTheBeginning
}

function nextStart(target: Target, targets: readonly Target[]): LocalDate | null {
  const later = targets.filter(({ name }) => name === target.name).map(startOf)
  return earliest(later.filter((date) => date > startOf(target)))
}

function earliest(dates: readonly (LocalDate | null)[]): LocalDate | null {
  return dates.filter((date) => date !== null).toSorted()[0] ?? null
}
