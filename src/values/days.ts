/**
 * Time zones: their UTC offsets, and their days, which have 23 to 25 hours. Calendar days are
 * numbers, 0 = 1970-01-01.
 */

import {
  daySeconds,
  type EpochSeconds,
  hourSeconds,
  type LocalDate,
  minuteSeconds,
  rfc3339,
  type Seconds,
  type Weekday,
} from './time.ts'

/** A span without a change of the clocks. `offset`: seconds east of UTC. */
export type OffsetSpan = {
  readonly from: EpochSeconds
  readonly to: EpochSeconds
  readonly offset: Seconds
}

export type TimeZone = ReturnType<typeof findTimeZone>

// Since 1970 no zone has changed its offset twice within a week.
const probeSeconds = 3 * daySeconds
const chunkSeconds = 128 * probeSeconds

/** Offsets of years that no time of the service has are those of the nearest year. */
const earliest: EpochSeconds = Date.parse('0001-01-02T00:00:00Z') / 1000
const latest: EpochSeconds = Date.parse('9999-12-30T00:00:00Z') / 1000

/**
 * By name: finding the offsets takes milliseconds a year, and many projects and calendars share a
 * zone.
 */
const timeZones = new Map<string, TimeZone>()

/** `name`: an IANA name, already checked. */
export function createTimeZone(name: string): TimeZone {
  const timeZone = timeZones.get(name) ?? findTimeZone(name)
  timeZones.set(name, timeZone)
  return timeZone
}

function findTimeZone(name: string) {
  const offsetAt = createOffsetReader(name)
  const chunks = new Map<number, readonly OffsetSpan[]>()
  // Most times follow one that is near.
  let last: OffsetSpan = { from: 0, to: 0, offset: 0 }
  const offsetSpanAt = (at: EpochSeconds): OffsetSpan => {
    if (at >= last.from && at < last.to) return last
    const index = Math.floor(at / chunkSeconds)
    const spans = chunks.get(index) ?? spansOfChunk(index * chunkSeconds, offsetAt)
    chunks.set(index, spans)
    last = spans.find(({ to }) => at < to) ?? last
    return last
  }
  /** In order; together they are exactly the range. */
  function* offsetSpans(from: EpochSeconds, to: EpochSeconds): Generator<OffsetSpan> {
    for (let at = from; at < to; ) {
      const span = offsetSpanAt(at)
      const end = Math.min(span.to, to)
      yield { from: at, to: end, offset: span.offset }
      at = end
    }
  }
  return { offsetSpanAt, offsetSpans }
}

function createOffsetReader(name: string) {
  const format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' })
  return (at: EpochSeconds): Seconds => {
    // `12/31/1959, GMT-00:44:30`; an offset of 0 may be `GMT` alone.
    const text = format.format(Math.min(Math.max(at, earliest), latest) * 1000)
    const parts = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(text) ?? []
    const [, sign, hours = '0', minutes = '0', seconds = '0'] = parts
    const offset = Number(hours) * hourSeconds + Number(minutes) * minuteSeconds + Number(seconds)
    return sign === '-' ? -offset : offset
  }
}

function spansOfChunk(
  start: EpochSeconds,
  offsetAt: ReturnType<typeof createOffsetReader>,
): OffsetSpan[] {
  const spans: OffsetSpan[] = []
  let from = start
  for (let at = start; at < start + chunkSeconds; at += probeSeconds) {
    const offset = offsetAt(at)
    if (offsetAt(at + probeSeconds) === offset) continue
    let low = at
    let high = at + probeSeconds
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (offsetAt(middle) === offset) low = middle
      else high = middle
    }
    spans.push({ from, to: high, offset })
    from = high
  }
  const to = start + chunkSeconds
  return from < to ? [...spans, { from, to, offset: offsetAt(from) }] : spans
}

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

/**
 * The first days of its week, month and quarter, as dates; a week of ISO 8601 belongs to the year
 * of its Thursday.
 */
export function datePartsOf(day: DayNumber) {
  const [year, month] = dateText(day).split('-')
  const weekday = weekdayOf(day)
  const thursday = day - weekday + 4
  const yearOfWeek = dateText(thursday).slice(0, 4)
  const week = Math.floor((thursday - dayNumber(`${yearOfWeek}-01-01`)) / 7) + 1
  const firstMonth = Number(month) - ((Number(month) - 1) % 3)
  return {
    weekday,
    week: dateText(day - weekday + 1),
    month: `${year}-${month}-01`,
    quarter: `${year}-${String(firstMonth).padStart(2, '0')}-01`,
    year: Number(year),
    iso_week: `${yearOfWeek}-W${String(week).padStart(2, '0')}`,
  }
}

export function localDayOf(zone: TimeZone, at: EpochSeconds): DayNumber {
  return Math.floor((at + zone.offsetSpanAt(at).offset) / daySeconds)
}

export function localDateAt(at: EpochSeconds, zone: string): LocalDate {
  return dateText(localDayOf(createTimeZone(zone), at))
}

/** The first second at which the local date is this day or a later one. */
export function startOfDay(zone: TimeZone, day: DayNumber): EpochSeconds {
  const utc = day * daySeconds
  for (const { from, to, offset } of zone.offsetSpans(utc - daySeconds, utc + daySeconds)) {
    if (utc - offset < to) return Math.max(utc - offset, from)
  }
  return utc
}

/** From its first second to the first second of the next day, which is excluded. */
export type LocalDay = {
  readonly date: LocalDate
  readonly from: EpochSeconds
  readonly to: EpochSeconds
}

/** Every day from that of `first` to that of `last`, both included, newest first. */
export function localDaysBetween(
  first: EpochSeconds,
  last: EpochSeconds,
  zone: string,
): LocalDay[] {
  const days: LocalDay[] = []
  const timeZone = createTimeZone(zone)
  let day = localDayOf(timeZone, last)
  for (let to = startOfDay(timeZone, day + 1); to > Math.min(first, last); day--) {
    const from = startOfDay(timeZone, day)
    // Pacific/Apia skipped 2011-12-30.
    if (from < to) days.push({ date: dateText(day), from, to })
    to = from
  }
  return days
}

/** The local date if the window is exactly one day of the zone; else null. */
export function localDateOfDay(
  { from, to }: Pick<LocalDay, 'from' | 'to'>,
  zone: string,
): LocalDate | null {
  const [day] = localDaysBetween(from, from, zone)
  return day?.from === from && day.to === to ? day.date : null
}
