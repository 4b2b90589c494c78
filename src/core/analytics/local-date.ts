/** Dates as whole days since 1970-01-01, and what the calendar says of each. They belong to the caller's time zone. */
import { daySeconds, rfc3339 } from '../time.ts'
import type { Weekday } from './analytics-settings.ts'
import type { LocalDate } from './fact-rows.ts'

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

export type DateParts = {
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
