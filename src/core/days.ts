/** The days of a time zone, for rollups: a day there has 23 to 25 hours. */
import { DateTime } from 'luxon'
import type { Seconds } from './time.ts'

/** From a day's midnight to the next one's, that moment excluded. */
export type Day = { readonly from: Seconds; readonly to: Seconds }

/** Every day from the one that holds `first` to the one that holds `last`, both included, the newest first. */
export function daysBetween(first: Seconds, last: Seconds, zone: string): Day[] {
  const days: Day[] = []
  let start = DateTime.fromSeconds(last, { zone }).startOf('day')
  const end = DateTime.fromSeconds(Math.min(first, last), { zone }).startOf('day')
  for (; start >= end; start = start.minus({ days: 1 }).startOf('day')) {
    days.push({ from: start.toUnixInteger(), to: start.plus({ days: 1 }).startOf('day').toUnixInteger() })
  }
  return days
}
