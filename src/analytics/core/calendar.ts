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

/** Nulls for a time that is not known. */
export function localTime(calendar: Calendar, at: EpochSeconds | null) {
  return at === null ? { date: null, hour: null } : { date: calendar.dateOf(at), hour: calendar.hourOf(at) }
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

/** A row of `business_spans`. */
type BusinessSpan = {
  readonly opens_s: EpochSeconds
  readonly closes_s: EpochSeconds
  readonly seconds_before: Seconds
}

/**
 * Business hours as spans of time. Business is open whenever the local clock shows a time within the hours: an hour that
 * occurs twice when the clocks change counts twice, and one that is skipped does not count.
 */
export type BusinessHours = {
  /** Negative if `to` is the earlier one. */
  readonly secondsBetween: (from: EpochSeconds, to: EpochSeconds) => Seconds
  /** The spans that end after `from`, up to `to`. */
  readonly spansBetween: (from: EpochSeconds, to: EpochSeconds) => BusinessSpan[]
}

/** Outside of these years business is closed, unless it is open round the clock: no time of a service lies there. */
export const firstOpening: EpochSeconds = Date.UTC(2000, 0, 1) / 1000
const lastClosing: EpochSeconds = Date.UTC(2100, 0, 1) / 1000

/** How much longer the list of spans becomes at once. */
const stepSeconds = 400 * daySeconds

type HoursOfDay = (day: DayNumber) => readonly OpeningHours[]

/** `hours`: null = round the clock. */
export function createBusinessHours(zone: TimeZone, hours: WeeklyHours | null, holidays: Holidays): BusinessHours {
  const isAlwaysOpen = hours === null && Object.keys(holidays).length === 0
  return isAlwaysOpen ? roundTheClock : scheduledHours(zone, hoursByDay(hours, holidays))
}

const roundTheClock: BusinessHours = {
  secondsBetween: (from, to) => to - from,
  spansBetween: (_, to) => [{ opens_s: firstOpening, closes_s: to, seconds_before: 0 }],
}

const wholeDay: readonly OpeningHours[] = [{ opens: 0, closes: 1440 }]

function hoursByDay(hours: WeeklyHours | null, holidays: Holidays): HoursOfDay {
  const dates = new Map(Object.entries(holidays).map(([date, stretches]) => [dayNumber(date), stretches]))
  return (day) => dates.get(day) ?? (hours === null ? wholeDay : (hours[weekdayOf(day)] ?? []))
}

/** The spans up to the latest time that was asked for, so that a project of one year costs one year. */
function scheduledHours(zone: TimeZone, hoursOfDay: HoursOfDay): BusinessHours {
  const spans: BusinessSpan[] = []
  let known = firstOpening
  const extendTo = (at: EpochSeconds) => {
    while (known <= at && known < lastClosing) {
      const end = Math.min(known + stepSeconds, lastClosing)
      for (const offsetSpan of zone.offsetSpans(known, end)) {
        for (const [opens, closes] of openingsIn(offsetSpan, hoursOfDay)) append(opens, closes)
      }
      known = end
    }
  }
  const append = (opens: EpochSeconds, closes: EpochSeconds) => {
    const last = spans.at(-1)
    if (last?.closes_s === opens) spans.splice(-1, 1, { ...last, closes_s: closes })
    else
      spans.push({ opens_s: opens, closes_s: closes, seconds_before: last === undefined ? 0 : secondsUntilEnd(last) })
  }
  const secondsBefore = (at: EpochSeconds) => {
    if (at >= known) extendTo(at)
    const span = spans[lastOpenedBy(spans, at)]
    return span === undefined ? 0 : span.seconds_before + Math.min(at, span.closes_s) - span.opens_s
  }
  const spansBetween = (from: EpochSeconds, to: EpochSeconds) => {
    extendTo(to)
    return spans
      .filter(({ opens_s, closes_s }) => closes_s > from && opens_s < to)
      .map((span) => ({ ...span, closes_s: Math.min(span.closes_s, to) }))
  }
  return { secondsBetween: (from, to) => secondsBefore(to) - secondsBefore(from), spansBetween }
}

function secondsUntilEnd({ opens_s, closes_s, seconds_before }: BusinessSpan): Seconds {
  return seconds_before + closes_s - opens_s
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
function* openingsIn(
  { from, to, offset }: OffsetSpan,
  hoursOfDay: HoursOfDay,
): Generator<[EpochSeconds, EpochSeconds]> {
  const lastDay = Math.floor((to - 1 + offset) / daySeconds)
  for (let day = Math.floor((from + offset) / daySeconds); day <= lastDay; day++) {
    const midnight = day * daySeconds - offset
    for (const { opens, closes } of hoursOfDay(day)) {
      const start = Math.max(midnight + opens * minuteSeconds, from)
      const end = Math.min(midnight + closes * minuteSeconds, to)
      if (start < end) yield [start, end]
    }
  }
}
