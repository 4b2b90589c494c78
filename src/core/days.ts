/** The days of a time zone, for rollups. A day may have 23 to 25 hours. */
import { DateTime } from 'luxon'
import { daySeconds, type EpochSeconds, hourSeconds } from './time.ts'

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
  const earliest = Math.min(first, last)
  let date = localDateAt(last, zone)
  for (let to = startOfDate(addDays(date, 1), zone); to > earliest; date = addDays(date, -1)) {
    const from = startOfDate(date, zone)
    // Pacific/Apia skipped 2011-12-30.
    if (from < to) days.push({ date, from, to })
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
  return DateTime.fromSeconds(at, { zone }).toFormat('yyyy-MM-dd')
}

function addDays(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * daySeconds * 1000).toISOString().slice(0, 10)
}

/** The first second of a date. Luxon alone is off by an hour if midnight occurs twice. */
function startOfDate(date: string, zone: string): EpochSeconds {
  const midnight = DateTime.fromISO(date, { zone }).toUnixInteger()
  if (localDateAt(midnight, zone) === date && localDateAt(midnight - 1, zone) < date) return midnight
  const utc = Date.parse(`${date}T00:00:00Z`) / 1000
  // No zone is more than 14 hours from UTC.
  let [before, after] = [utc - 16 * hourSeconds, utc + 16 * hourSeconds]
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2)
    if (localDateAt(middle, zone) < date) before = middle
    else after = middle
  }
  return after
}
