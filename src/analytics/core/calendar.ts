/** A project's local time and business hours, as functions of seconds since 1970. */

import type { AnalyticsSettings, Holidays, OpeningHours, WeeklyHours } from '../../config/analytics-settings.ts'
import {
  createTimeZone,
  type DayNumber,
  dateText,
  dayNumber,
  type OffsetSpan,
  type TimeZone,
  weekdayOf,
} from '../../values/days.ts'
import { daySeconds, type EpochSeconds, hourSeconds, minuteSeconds, type Seconds } from '../../values/time.ts'

/** `timeZone`: an IANA name, already checked. */
export type CalendarSettings = Pick<AnalyticsSettings, 'hours' | 'holidays'> & { readonly timeZone: string }

export type Calendar = ReturnType<typeof createCalendar>

/** Gives an answer for every time, in any year. */
export function createCalendar({ timeZone, hours, holidays }: CalendarSettings) {
  const zone = createTimeZone(timeZone)
  const dates = new Map<DayNumber, string>()
  const localSeconds = (at: EpochSeconds) => at + zone.offsetSpanAt(at).offset
  return {
    /** The local date, `YYYY-MM-DD`. */
    dateOf: (at: EpochSeconds): string => {
      const day = Math.floor(localSeconds(at) / daySeconds)
      const text = dates.get(day) ?? dateText(day)
      dates.set(day, text)
      return text
    },
    /** The local hour, 0 to 23. */
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
  return at === null ? { date: null, hour: null } : { date: calendar.dateOf(at), hour: calendar.hourOf(at) }
}

/** A row of `business_spans`. */
type BusinessSpan = Readonly<Record<'opens_s' | 'closes_s', EpochSeconds> & { seconds_before: Seconds }>

/** Outside of these years business is closed, unless it is open round the clock: no time of a service lies there. */
export const firstOpening: EpochSeconds = Date.UTC(2000, 0, 1) / 1000
const lastClosing: EpochSeconds = Date.UTC(2100, 0, 1) / 1000

/** How much longer the list of spans becomes at once. */
const stepSeconds = 400 * daySeconds

type BusinessHours = typeof roundTheClock

const roundTheClock = {
  secondsBetween: (from: EpochSeconds, to: EpochSeconds): Seconds => to - from,
  spansBetween: (_: EpochSeconds, to: EpochSeconds): BusinessSpan[] => [
    { opens_s: firstOpening, closes_s: to, seconds_before: 0 },
  ],
}

const wholeDay: readonly OpeningHours[] = [{ opens: 0, closes: 1440 }]

/**
 * Business hours as spans of time. Business is open whenever the local clock shows a time within the hours: an hour that
 * occurs twice when the clocks change counts twice, and one that is skipped does not count. `hours`: null = round the clock.
 * The spans reach up to the latest time asked for: one year costs one year.
 */
export function createBusinessHours(zone: TimeZone, hours: WeeklyHours | null, holidays: Holidays): BusinessHours {
  const dates = new Map(Object.entries(holidays).map(([date, stretches]) => [dayNumber(date), stretches]))
  if (hours === null && dates.size === 0) return roundTheClock
  const hoursOfDay = (day: DayNumber) => dates.get(day) ?? (hours === null ? wholeDay : (hours[weekdayOf(day)] ?? []))
  const spans: BusinessSpan[] = []
  const append = ([opens_s, closes_s]: [EpochSeconds, EpochSeconds]) => {
    const last = spans.at(-1)
    if (last?.closes_s === opens_s) spans.splice(-1, 1, { ...last, closes_s })
    else
      spans.push({ opens_s, closes_s, seconds_before: last ? last.seconds_before + last.closes_s - last.opens_s : 0 })
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
    secondsBetween: (from, to) => secondsBefore(to) - secondsBefore(from),
    /** Those that end after `from`, up to `to`. */
    spansBetween: (from, to) => {
      extendTo(to)
      return spans
        .filter(({ opens_s, closes_s }) => closes_s > from && opens_s < to)
        .map((span) => ({ ...span, closes_s: Math.min(span.closes_s, to) }))
    },
  }
}

/** The index of the last span that opens at `at` or before; -1 if there is none. */
function lastOpenedBy(spans: readonly BusinessSpan[], at: EpochSeconds): number {
  let [low, high] = [0, spans.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((spans[middle]?.opens_s ?? at) <= at) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** In order. Within a span of one offset, local times are UTC plus a constant. */
function openingsIn({ from, to, offset }: OffsetSpan, hoursOfDay: (day: DayNumber) => readonly OpeningHours[]) {
  const [firstDay, lastDay] = [from, to - 1].map((at) => Math.floor((at + offset) / daySeconds)) as [number, number]
  return Array.from({ length: lastDay - firstDay + 1 }, (_, n) => firstDay + n).flatMap((day) => {
    const midnight = day * daySeconds - offset
    return hoursOfDay(day).flatMap(({ opens, closes }): [EpochSeconds, EpochSeconds][] => {
      const start = Math.max(midnight + opens * minuteSeconds, from)
      const end = Math.min(midnight + closes * minuteSeconds, to)
      return start < end ? [[start, end]] : []
    })
  })
}
