/** The days that a report is about, and the days before them that it is compared with. */

import { dateText, dayNumber, weekdayOf } from '../../values/days.ts'
import type { LocalDate } from '../../values/time.ts'
import { UserError } from '../../values/user-error.ts'

/** Local days, both included. */
export type DateRange = { readonly from: LocalDate; readonly to: LocalDate }

/**
 * `whole`: its days that are over and read to their end; null = none. `before`: the same days of
 * the period just before. Only these two are compared.
 */
export type ReportPeriod = DateRange & {
  readonly whole: DateRange | null
  readonly before: DateRange
}

/** A year and its leap day. */
const maxReportDays = 366

const daysOfWeek = 7

/** Undefined if the text is not a date such as `2026-11-16`. */
export function parseDate(text: string): LocalDate | undefined {
  if (!/^[12]\d{3}-\d\d-\d\d$/.test(text)) return undefined
  return Number.isNaN(dayNumber(text)) || dateText(dayNumber(text)) !== text ? undefined : text
}

/**
 * `dates`: without one, the last ISO week that is over; with one of them, seven days. `last 7 days`:
 * that are over and read to their end. `wholeUntil`: the first day that is not over, or not read; ''
 * = none is. Throws UserError.
 */
export function chooseReportPeriod(
  dates: Partial<DateRange> | 'last 7 days',
  today: LocalDate,
  wholeUntil: LocalDate = today,
): ReportPeriod {
  const { from, to }: Partial<DateRange> =
    dates === 'last 7 days' ? { to: dateText(dayNumber(wholeUntil || today) - 1) } : dates
  const range = chooseDays(from, to, dayNumber(today))
  const days = range.to - range.from + 1
  if (days < 1) throw invalidPeriod(`${dateText(range.from)} is after ${dateText(range.to)}`)
  if (days > maxReportDays)
    throw invalidPeriod(`${days} days are more than the ${maxReportDays} that fit on one page`)
  const end = wholeUntil === '' ? range.from - 1 : Math.min(range.to, dayNumber(wholeUntil) - 1)
  const datesBetween = (first: number, last: number) => ({
    from: dateText(first),
    to: dateText(last),
  })
  return {
    ...datesBetween(range.from, range.to),
    whole: end < range.from ? null : datesBetween(range.from, end),
    before: datesBetween(range.from - days, (end < range.from ? range.to : end) - days),
  }
}

function chooseDays(from: LocalDate | undefined, to: LocalDate | undefined, today: number) {
  if (from !== undefined && to !== undefined) return { from: dayNumber(from), to: dayNumber(to) }
  if (from !== undefined) return { from: dayNumber(from), to: dayNumber(from) + daysOfWeek - 1 }
  const last = to === undefined ? today - weekdayOf(today) : dayNumber(to)
  return { from: last - daysOfWeek + 1, to: last }
}

function invalidPeriod(why: string): UserError {
  const next =
    'give --from and --to as dates, the earlier one first, such as ' +
    '--from 2026-11-09 --to 2026-11-15'
  return new UserError({ what: 'the period of the report is invalid', why, next, exitCode: 2 })
}

export function datesOf({ from, to }: DateRange): LocalDate[] {
  const first = dayNumber(from)
  return Array.from({ length: dayNumber(to) - first + 1 }, (_, index) => dateText(first + index))
}
