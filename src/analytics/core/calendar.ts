/** A project's local time and business hours, and the rows that show them to analysts. */

import type { AnalyticsSettings, Target } from '../../config/analytics-settings.ts'
import type { Holidays, OpeningHours, WeeklyHours } from '../../config/business-hours.ts'
import {
  createTimeZone,
  type DayNumber,
  datePartsOf,
  dateText,
  dayNumber,
  localDayOf,
  type OffsetSpan,
  startOfDay,
  type TimeZone,
  weekdayOf,
} from '../../values/days.ts'
import {
  daySeconds,
  type EpochSeconds,
  hourSeconds,
  type LocalDate,
  minuteSeconds,
  type Seconds,
} from '../../values/time.ts'

/** `timeZone`: an IANA name, already checked. */
export type CalendarSettings = Pick<AnalyticsSettings, 'hours' | 'holidays'> & {
  readonly timeZone: string
}

export type Calendar = ReturnType<typeof createCalendar>

/** Gives an answer for every time, in any year. */
export function createCalendar({ timeZone, hours, holidays }: CalendarSettings) {
  const zone = createTimeZone(timeZone)
  const dates = new Map<DayNumber, string>()
  const localSeconds = (at: EpochSeconds) => at + zone.offsetSpanAt(at).offset
  return {
    /** `YYYY-MM-DD`. */
    dateOf: (at: EpochSeconds): string => {
      const day = Math.floor(localSeconds(at) / daySeconds)
      const text = dates.get(day) ?? dateText(day)
      dates.set(day, text)
      return text
    },
    /** 0 to 23. */
    hourOf: (at: EpochSeconds): number => {
      const local = localSeconds(at)
      return Math.floor(local / hourSeconds) - Math.floor(local / daySeconds) * 24
    },
    /** The end of the stretch of one local hour that `at` is in. */
    hourEnd: (at: EpochSeconds): EpochSeconds => {
      const { to, offset } = zone.offsetSpanAt(at)
      return Math.min(to, (Math.floor((at + offset) / hourSeconds) + 1) * hourSeconds - offset)
    },
    /** Seconds within business hours from `from` to `to`; negative if `to` is the earlier one. */
    businessSeconds: createBusinessHours(zone, hours, holidays).secondsBetween,
  }
}

/** Nulls for a time that is not known. */
export function localTime(calendar: Calendar, at: EpochSeconds | null) {
  return at === null
    ? { date: null, hour: null }
    : { date: calendar.dateOf(at), hour: calendar.hourOf(at) }
}

/** A row of `business_spans`. */
type BusinessSpan = Readonly<
  Record<'opens_s' | 'closes_s', EpochSeconds> & { seconds_before: Seconds }
>

/** Outside of these years business is closed, unless it is open round the clock. */
const firstOpening: EpochSeconds = Date.UTC(2000, 0, 1) / 1000
const lastClosing: EpochSeconds = Date.UTC(2100, 0, 1) / 1000

/** How much longer the list of spans becomes at once. */
const stepSeconds = 400 * daySeconds

const roundTheClock = {
  secondsBetween: (from: EpochSeconds, to: EpochSeconds): Seconds => to - from,
  spansBetween: (_: EpochSeconds, to: EpochSeconds): BusinessSpan[] => [
    { opens_s: firstOpening, closes_s: to, seconds_before: 0 },
  ],
}

const wholeDay: readonly OpeningHours[] = [{ opens: 0, closes: 1440 }]

/**
 * Business is open whenever the local clock shows a time within the hours: an hour that occurs
 * twice counts twice. `hours`: null = round the clock. The spans reach up to the latest time asked
 * for.
 */
function createBusinessHours(zone: TimeZone, hours: WeeklyHours | null, holidays: Holidays) {
  const dates = new Map(
    Object.entries(holidays).map(([date, stretches]) => [dayNumber(date), stretches]),
  )
  if (hours === null && dates.size === 0) return roundTheClock
  const hoursOfDay = (day: DayNumber) =>
    dates.get(day) ?? (hours === null ? wholeDay : (hours[weekdayOf(day)] ?? []))
  const spans: BusinessSpan[] = []
  const append = ([opens_s, closes_s]: [EpochSeconds, EpochSeconds]) => {
    const last = spans.at(-1)
    if (last?.closes_s === opens_s) spans.splice(-1, 1, { ...last, closes_s })
    else
      spans.push({
        opens_s,
        closes_s,
        seconds_before: last ? last.seconds_before + last.closes_s - last.opens_s : 0,
      })
  }
  let known = firstOpening
  const extendTo = (at: EpochSeconds) => {
    while (known <= at && known < lastClosing) {
      const end = Math.min(known + stepSeconds, lastClosing)
      for (const span of zone.offsetSpans(known, end)) openingsIn(span, hoursOfDay).forEach(append)
      known = end
    }
  }
  const secondsBefore = (at: EpochSeconds) => {
    if (at >= known) extendTo(at)
    const span = spans[lastOpenedBy(spans, at)]
    return span === undefined ? 0 : span.seconds_before + Math.min(at, span.closes_s) - span.opens_s
  }
  return {
    /** Negative if `to` is the earlier one. */
    secondsBetween: (from: EpochSeconds, to: EpochSeconds) =>
      secondsBefore(to) - secondsBefore(from),
    /** Those that end after `from`, up to `to`. */
    spansBetween: (from: EpochSeconds, to: EpochSeconds) => {
      extendTo(to)
      return spans
        .filter(({ opens_s, closes_s }) => closes_s > from && opens_s < to)
        .map((span) => ({ ...span, closes_s: Math.min(span.closes_s, to) }))
    },
  }
}

/** The index of the last span that opens at `at` or before; -1 if there is none. */
function lastOpenedBy(spans: readonly BusinessSpan[], at: EpochSeconds): number {
  let low = 0
  let high = spans.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((spans[middle]?.opens_s ?? at) <= at) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** In order. Within a span of one offset, local times are UTC plus a constant. */
function openingsIn(
  { from, to, offset }: OffsetSpan,
  hoursOfDay: (day: DayNumber) => readonly OpeningHours[],
) {
  const [firstDay, lastDay] = [from, to - 1].map((at) =>
    Math.floor((at + offset) / daySeconds),
  ) as [number, number]
  return Array.from({ length: lastDay - firstDay + 1 }, (_, n) => firstDay + n).flatMap((day) => {
    const midnight = day * daySeconds - offset
    return hoursOfDay(day).flatMap(({ opens, closes }): [EpochSeconds, EpochSeconds][] => {
      const start = Math.max(midnight + opens * minuteSeconds, from)
      const end = Math.min(midnight + closes * minuteSeconds, to)
      return start < end ? [[start, end]] : []
    })
  })
}

export type TimeSpan = { readonly from: EpochSeconds; readonly to: EpochSeconds }

/** From 2000 to the end of the year after next. */
export function calendarRange(now: EpochSeconds): TimeSpan {
  const lastYear = new Date(now * 1000).getUTCFullYear() + 2
  return { from: firstOpening, to: Date.UTC(lastYear + 1, 0, 1) / 1000 }
}

export function calendarRows(
  { timeZone, hours, holidays }: CalendarSettings,
  { from, to }: TimeSpan,
) {
  const zone = createTimeZone(timeZone)
  const business = createBusinessHours(zone, hours, holidays)
  const firstDay = localDayOf(zone, from)
  const days = Array.from({ length: localDayOf(zone, to - 1) - firstDay + 1 }, (_, n) => {
    const day = firstDay + n
    const date = dateText(firstDay + n)
    const starts_at = startOfDay(zone, day)
    const ends_at = startOfDay(zone, day + 1)
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
  const beginOf = ({ from }: Target) => from ?? fromTheBeginning
  return targets.map((target) => {
    const { name, clock, which, to } = target
    const from_date = beginOf(target)
    const later = targets.filter((other) => other.name === name).map(beginOf)
    const ends = [to, ...later.filter((date) => date > from_date)].filter((date) => date !== null)
    return {
      name,
      clock,
      which,
      target_seconds: target.withinSeconds,
      in_business: target.inBusinessHours,
      from_date,
      to_date: ends.toSorted()[0] ?? null,
    }
  })
}
