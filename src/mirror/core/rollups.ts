/** Which days' rollups a sync run requests. A past day can change at any time, and nothing shows that it did. */
import type { LocalDay } from '../../values/days.ts'
import { daySeconds, type EpochSeconds, hourSeconds, rfc3339 } from '../../values/time.ts'
import type { StoredRollup } from './mirror.ts'
import type { SyncMode } from './reports.ts'

/** The key of the gap of past days that are missing. */
export const historyGapKey = 'history'

/** The key of the gap of one day. A rollup that the database cannot hold is the same gap: its key ends with that time. */
export function dayGapKey({ to }: Pick<LocalDay, 'to'>): string {
  return `row:${rfc3339(to)}`
}

/** How many days with a gap an incremental sync tries again: each may cost several attempts. */
const maxFailedRereads = 3

/** How long after its end a day's rollup is likely to change (late calls, late replies). */
const settlingSeconds = daySeconds

/** How often a past day that is likely to change is read again at most. */
const minRereadIntervalSeconds = 6 * hourSeconds

/** How many of the last days each reconcile reads again. */
const recentDays = 7
/** How many of the older days it reads again: nightly reconciles cover all of them within a week. */
const rereadShare = { atLeast: 30, oneIn: 7 }

/** How many settled days to read again: of the last ones, and of the older ones. */
export type RereadCounts = { readonly last: number; readonly older: number }

/**
 * The days to read. `missing`: never read, in the given order. `unsettled`: last read before or soon after their end.
 * `last` and `older`: settled ones to read again. `failed`: past days that could not be read the last time. The
 * unsettled, last and older ones are least recently read first.
 */
type RollupPlan = {
  readonly [Group in 'missing' | 'unsettled' | 'last' | 'older' | 'failed']: readonly LocalDay[]
}

/** `days`: newest first. `remaining`: what an interrupted run still has to read again; null = decided by the mode. */
export function planRollups(
  days: readonly LocalDay[],
  stored: readonly StoredRollup[],
  now: EpochSeconds,
  mode: SyncMode,
  remaining: RereadCounts | null,
  hasGap: (day: LocalDay) => boolean = () => false,
): RollupPlan {
  const keyOf = ({ from, to }: Pick<LocalDay, 'from' | 'to'>) => `${from}/${to}`
  const lastReads = new Map(stored.map((rollup) => [keyOf(rollup), rollup.readAt]))
  const lastRead = (day: LocalDay) => lastReads.get(keyOf(day))
  const oldestReadFirst = (all: readonly LocalDay[]) => all.toSorted((a, b) => (lastRead(a) ?? 0) - (lastRead(b) ?? 0))
  const {
    missing = [],
    unsettled = [],
    settled = [],
    failed = [],
  } = Object.groupBy(days, (day) => (hasGap(day) && day.to <= now ? 'failed' : groupOf(day, lastRead(day), now)))
  const { last, older } = remaining ?? plannedRereads(mode, settled.length)
  return {
    missing,
    unsettled: oldestReadFirst(unsettled),
    last: oldestReadFirst(settled.slice(0, recentDays)).slice(0, last),
    older: oldestReadFirst(settled.slice(recentDays)).slice(0, older),
    failed: mode === 'incremental' ? takeInTurn(failed, maxFailedRereads, now) : failed,
  }
}

/** So many, beginning at another one each minute. */
function takeInTurn(days: readonly LocalDay[], most: number, now: EpochSeconds): LocalDay[] {
  const start = days.length === 0 ? 0 : Math.floor(now / 60) % days.length
  return [...days.slice(start), ...days.slice(0, start)].slice(0, most)
}

function groupOf(day: LocalDay, lastRead: EpochSeconds | undefined, now: EpochSeconds) {
  if (lastRead === undefined) return 'missing'
  if (lastRead >= day.to + settlingSeconds) return 'settled'
  const isDue = day.to > now || lastRead < day.to || now - lastRead > minRereadIntervalSeconds
  return isDue ? 'unsettled' : 'settled'
}

/** What a sync run has to read again of `days` settled days. */
function plannedRereads(mode: SyncMode, days: number): RereadCounts {
  const [last, older] = [Math.min(days, recentDays), Math.max(0, days - recentDays)]
  if (mode === 'incremental') return { last: 0, older: 0 }
  if (mode === 'full') return { last, older }
  return { last, older: Math.min(older, Math.max(rereadShare.atLeast, Math.ceil(older / rereadShare.oneIn))) }
}

/** As a stored cursor: `7 34`. */
export function writeRereadCounts({ last, older }: RereadCounts): string {
  return `${last} ${older}`
}

export function readRereadCounts(cursor: string | null): RereadCounts | null {
  const [, last, older] = /^(\d+) (\d+)$/.exec(cursor ?? '') ?? []
  return last === undefined || older === undefined ? null : { last: Number(last), older: Number(older) }
}
