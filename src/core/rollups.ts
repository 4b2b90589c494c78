/** Which days' rollups a pass asks for. A past day can change at any time, and nothing tells that it did. Pure. */
import type { LocalDay } from './days.ts'
import type { SyncMode } from './mirror.ts'
import { day, hour, type Seconds } from './time.ts'

/** A day's rollup is likely to change for so long after its end (late calls, late replies). */
const settlingTime = day

/** A past day that is likely to change is read again not more often than this. */
const minRereadInterval = 6 * hour

/** A reconcile reads again so many of the last days, */
const recentDays = 7
/** and of the others at least so many and at least one in so many: each within a week of nights. */
const rereadShare = { atLeast: 30, oneIn: 7 }

/** When a day was last read; undefined = never. */
export type LastReadLookup = (day: LocalDay) => Seconds | undefined

/** The days that were never read, in the order given. */
export function missingDays(days: readonly LocalDay[], lastRead: LastReadLookup): LocalDay[] {
  return days.filter((one) => lastRead(one) === undefined)
}

/** Those that were read before they were over for long. The one read longest ago comes first. */
export function unsettledDays(days: readonly LocalDay[], lastRead: LastReadLookup, now: Seconds): LocalDay[] {
  const unsettled = days.filter((one) => {
    const at = lastRead(one)
    if (at === undefined || at >= one.to + settlingTime) return false
    return one.to > now || at < one.to || now - at > minRereadInterval
  })
  return oldestReadFirst(unsettled, lastRead)
}

/** How many days to read again that need not be read: of the last ones, and of those before them. */
export type RereadCounts = { readonly last: number; readonly older: number }

/** What a pass that begins has to read again of so many days. */
export function plannedRereads(mode: SyncMode, days: number): RereadCounts {
  const [last, older] = [Math.min(days, recentDays), Math.max(0, days - recentDays)]
  if (mode === 'incremental') return { last: 0, older: 0 }
  if (mode === 'full') return { last, older }
  return { last, older: Math.min(older, Math.max(rereadShare.atLeast, Math.ceil(older / rereadShare.oneIn))) }
}

/** Those days, of all that were read before (the newest first): in both parts the ones that were read longest ago. */
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

/** As a note for whoever goes on: `7 34`. */
export function writeRereadCounts({ last, older }: RereadCounts): string {
  return `${last} ${older}`
}

export function readRereadCounts(note: string | null): RereadCounts | null {
  const [, last, older] = /^(\d+) (\d+)$/.exec(note ?? '') ?? []
  return last === undefined || older === undefined ? null : { last: Number(last), older: Number(older) }
}
