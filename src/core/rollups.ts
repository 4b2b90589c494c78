/** Which days' rollups a sync run requests. A past day can change at any time, and nothing shows that it did. */
import type { LocalDay } from './days.ts'
import type { SyncMode } from './mirror.ts'
import { daySeconds, type EpochSeconds, hourSeconds } from './time.ts'

/** The subject of the gap of past days that are missing. */
export const historyGapSubject = 'history'

/** How long after its end a day's rollup is likely to change (late calls, late replies). */
const settlingSeconds = daySeconds

/** How often a past day that is likely to change is read again at most. */
const minRereadIntervalSeconds = 6 * hourSeconds

/** How many of the last days each reconcile reads again. */
const recentDays = 7
/** How many of the older days it reads again: nightly reconciles cover all of them within a week. */
const rereadShare = { atLeast: 30, oneIn: 7 }

/** The time of the last read of a day; undefined = never. */
export type LastReadLookup = (day: LocalDay) => EpochSeconds | undefined

/** The days that were never read, in the given order. */
export function missingDays(days: readonly LocalDay[], lastRead: LastReadLookup): LocalDay[] {
  return days.filter((day) => lastRead(day) === undefined)
}

/** The days whose last read was before or soon after their end, least recently read first. */
export function unsettledDays(days: readonly LocalDay[], lastRead: LastReadLookup, now: EpochSeconds): LocalDay[] {
  const unsettled = days.filter((localDay) => {
    const at = lastRead(localDay)
    if (at === undefined || at >= localDay.to + settlingSeconds) return false
    return localDay.to > now || at < localDay.to || now - at > minRereadIntervalSeconds
  })
  return oldestReadFirst(unsettled, lastRead)
}

/** How many settled days to read again: of the last ones, and of the older ones. */
export type RereadCounts = { readonly last: number; readonly older: number }

/** What a sync run has to read again of `days` settled days. */
export function plannedRereads(mode: SyncMode, days: number): RereadCounts {
  const [last, older] = [Math.min(days, recentDays), Math.max(0, days - recentDays)]
  if (mode === 'incremental') return { last: 0, older: 0 }
  if (mode === 'full') return { last, older }
  return { last, older: Math.min(older, Math.max(rereadShare.atLeast, Math.ceil(older / rereadShare.oneIn))) }
}

/** The settled days to read again, recent and older ones, least recently read first. `days`: newest first. */
export function daysToReread(
  days: readonly LocalDay[],
  lastRead: LastReadLookup,
  { last, older }: RereadCounts,
): [LocalDay[], LocalDay[]] {
  return [
    oldestReadFirst(days.slice(0, recentDays), lastRead).slice(0, last),
    oldestReadFirst(days.slice(recentDays), lastRead).slice(0, older),
  ]
}

function oldestReadFirst(days: readonly LocalDay[], lastRead: LastReadLookup): LocalDay[] {
  return days.toSorted((a, b) => (lastRead(a) ?? 0) - (lastRead(b) ?? 0))
}

/** As a stored cursor: `7 34`. */
export function writeRereadCounts({ last, older }: RereadCounts): string {
  return `${last} ${older}`
}

export function readRereadCounts(cursor: string | null): RereadCounts | null {
  const [, last, older] = /^(\d+) (\d+)$/.exec(cursor ?? '') ?? []
  return last === undefined || older === undefined ? null : { last: Number(last), older: Number(older) }
}
