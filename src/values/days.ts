/** The days of a time zone, for rollups. A day may have 23 to 25 hours. */

import type { EpochSeconds } from './time.ts'
import { createTimeZone, dateText, localDayOf, startOfDay } from './time-zone.ts'

/** From its first second to the first second of the next day, which is excluded. */
export type LocalDay = {
  /** The local date: `2026-03-29`. */
  readonly date: string
  readonly from: EpochSeconds
  readonly to: EpochSeconds
}

/** Every day from that of `first` to that of `last`, both included, newest first. */
export function localDaysBetween(first: EpochSeconds, last: EpochSeconds, zone: string): LocalDay[] {
  const days: LocalDay[] = []
  const timeZone = createTimeZone(zone)
  const earliest = Math.min(first, last)
  let day = localDayOf(timeZone, last)
  for (let to = startOfDay(timeZone, day + 1); to > earliest; day--) {
    const from = startOfDay(timeZone, day)
    // Pacific/Apia skipped 2011-12-30.
    if (from < to) days.push({ date: dateText(day), from, to })
    to = from
  }
  return days
}

/** The local date if the window is exactly one day of the zone; else null. */
export function localDateOfDay({ from, to }: Pick<LocalDay, 'from' | 'to'>, zone: string): string | null {
  const date = localDateAt(from, zone)
  return localDaysBetween(from, from, zone).some((day) => day.from === from && day.to === to) ? date : null
}

export function localDateAt(at: EpochSeconds, zone: string): string {
  return dateText(localDayOf(createTimeZone(zone), at))
}
