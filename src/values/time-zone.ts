/** Time zones: their UTC offsets, found once for each stretch of time that is asked for, and their days. */

import type { Weekday } from './time.ts'
import {
  daySeconds,
  type EpochSeconds,
  hourSeconds,
  type LocalDate,
  minuteSeconds,
  rfc3339,
  type Seconds,
} from './time.ts'

/** A span without a change of the clocks. */
export type OffsetSpan = {
  readonly from: EpochSeconds
  readonly to: EpochSeconds
  /** Seconds east of UTC. */
  readonly offset: Seconds
}

export type TimeZone = {
  readonly offsetSpanAt: (at: EpochSeconds) => OffsetSpan
  /** In order; together they are exactly the range. */
  readonly offsetSpans: (from: EpochSeconds, to: EpochSeconds) => Generator<OffsetSpan>
}

// Since 1970 no zone has changed its offset twice within a week.
const probeSeconds = 3 * daySeconds
const chunkSeconds = 128 * probeSeconds

/** Offsets of years that no time of the service has are those of the nearest year. */
const earliest: EpochSeconds = Date.parse('0001-01-02T00:00:00Z') / 1000
const latest: EpochSeconds = Date.parse('9999-12-30T00:00:00Z') / 1000

/** By name: finding the offsets takes milliseconds a year, and many projects and calendars share a zone. */
const timeZones = new Map<string, TimeZone>()

/** `name`: an IANA name, already checked. */
export function createTimeZone(name: string): TimeZone {
  const timeZone = timeZones.get(name) ?? findTimeZone(name)
  timeZones.set(name, timeZone)
  return timeZone
}

function findTimeZone(name: string): TimeZone {
  const offsetAt = createOffsetReader(name)
  const chunks = new Map<number, readonly OffsetSpan[]>()
  const chunkAt = (index: number) => {
    const known = chunks.get(index)
    if (known !== undefined) return known
    const spans = spansOfChunk(index * chunkSeconds, offsetAt)
    chunks.set(index, spans)
    return spans
  }
  // Most times follow one that is near.
  let last: OffsetSpan = { from: 0, to: 0, offset: 0 }
  const offsetSpanAt = (at: EpochSeconds) => {
    if (at >= last.from && at < last.to) return last
    last = chunkAt(Math.floor(at / chunkSeconds)).find(({ to }) => at < to) ?? last
    return last
  }
  function* offsetSpans(from: EpochSeconds, to: EpochSeconds) {
    for (let at = from; at < to; ) {
      const span = offsetSpanAt(at)
      const end = Math.min(span.to, to)
      yield { from: at, to: end, offset: span.offset }
      at = end
    }
  }
  return { offsetSpanAt, offsetSpans }
}

/** `12/31/1959, GMT-00:44:30`; an offset of 0 may be `GMT` alone. */
const offsetPattern = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/

function createOffsetReader(name: string): (at: EpochSeconds) => Seconds {
  const format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' })
  return (at) => {
    const text = format.format(Math.min(Math.max(at, earliest), latest) * 1000)
    const [, sign, hours = '0', minutes = '0', seconds = '0'] = offsetPattern.exec(text) ?? []
    const offset = Number(hours) * hourSeconds + Number(minutes) * minuteSeconds + Number(seconds)
    return sign === '-' ? -offset : offset
  }
}

function spansOfChunk(start: EpochSeconds, offsetAt: (at: EpochSeconds) => Seconds): OffsetSpan[] {
  const spans: OffsetSpan[] = []
  let [from, offset] = [start, offsetAt(start)]
  for (let at = start; at < start + chunkSeconds; at += probeSeconds) {
    if (offsetAt(at + probeSeconds) === offset) continue
    const change = timeOfOffsetChange(at, at + probeSeconds, offsetAt)
    spans.push({ from, to: change, offset })
    from = change
    offset = offsetAt(change)
  }
  if (from < start + chunkSeconds) spans.push({ from, to: start + chunkSeconds, offset })
  return spans
}

/** `before` has the old offset, `after` a new one. */
function timeOfOffsetChange(
  before: EpochSeconds,
  after: EpochSeconds,
  offsetAt: (at: EpochSeconds) => Seconds,
): EpochSeconds {
  const old = offsetAt(before)
  let [low, high] = [before, after]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (offsetAt(middle) === old) low = middle
    else high = middle
  }
  return high
}

export function localDayOf(zone: TimeZone, at: EpochSeconds): DayNumber {
  return Math.floor((at + zone.offsetSpanAt(at).offset) / daySeconds)
}

/** The first second at which the local date is this day or a later one. */
export function startOfDay(zone: TimeZone, day: DayNumber): EpochSeconds {
  const utc = day * daySeconds
  for (const { from, to, offset } of zone.offsetSpans(utc - daySeconds, utc + daySeconds)) {
    if (utc - offset < to) return Math.max(utc - offset, from)
  }
  return utc
}

/** 0 = 1970-01-01. */
export type DayNumber = number

const firstDay = dayNumber('0001-01-01')
const lastDay = dayNumber('9999-12-31')

export function dayNumber(date: LocalDate): DayNumber {
  return Date.parse(`${date}T00:00:00Z`) / 1000 / daySeconds
}

/** A day beyond the years 1 to 9999, which neither database stores, becomes the nearest one. */
export function dateText(day: DayNumber): LocalDate {
  return rfc3339(Math.min(Math.max(day, firstDay), lastDay) * daySeconds).slice(0, 10)
}

export function weekdayOf(day: DayNumber): Weekday {
  // 1970-01-01 was a Thursday.
  return ((((day % 7) + 10) % 7) + 1) as Weekday
}

type DateParts = {
  readonly weekday: Weekday
  readonly week: LocalDate
  readonly month: LocalDate
  readonly quarter: LocalDate
  readonly year: number
  readonly iso_week: string
}

export function datePartsOf(day: DayNumber): DateParts {
  const date = dateText(day)
  const [year, month] = [Number(date.slice(0, 4)), Number(date.slice(5, 7))]
  const weekday = weekdayOf(day)
  return {
    weekday,
    week: dateText(day - weekday + 1),
    month: `${date.slice(0, 7)}-01`,
    quarter: `${date.slice(0, 4)}-${String(month - ((month - 1) % 3)).padStart(2, '0')}-01`,
    year,
    iso_week: isoWeekOf(day, weekday),
  }
}

/** A week belongs to the year of its Thursday. */
function isoWeekOf(day: DayNumber, weekday: Weekday): string {
  const thursday = day - weekday + 4
  const year = dateText(thursday).slice(0, 4)
  const week = Math.floor((thursday - dayNumber(`${year}-01-01`)) / 7) + 1
  return `${year}-W${String(week).padStart(2, '0')}`
}
