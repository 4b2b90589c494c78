/** Which days' rollups a run requests. A past day can change at any time, and nothing shows it. */
import type { LocalDay } from '../../values/days.ts'
import { daySeconds, type EpochSeconds, hourSeconds, rfc3339 } from '../../values/time.ts'
import type { StoredRollup } from './mirror.ts'
import type { SyncMode } from './reports.ts'

export const historyGapKey = 'history'

/** A rollup that the database cannot hold is the same gap: its key ends with that time. */
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
/** How many older days: nightly reconciles cover all of them within a week. */
const rereadShare = { atLeast: 30, oneIn: 7 }
/** A day that was read within this time was read by this reconcile, before it was interrupted. */
const sameReconcileSeconds = 20 * hourSeconds

/**
 * The days to read, of `days` (newest first). `missing`: never read. `unsettled`: last read before
 * or soon after their end. `settled`: to be read again. `failed`: past days that could not be read
 * the last time.
 */
export function planRollups(
  days: readonly LocalDay[],
  stored: readonly StoredRollup[],
  now: EpochSeconds,
  mode: SyncMode,
  hasGap: (day: LocalDay) => boolean,
) {
  const keyOf = ({ from, to }: Pick<LocalDay, 'from' | 'to'>) => `${from}/${to}`
  const lastReads = new Map(stored.map((rollup) => [keyOf(rollup), rollup.readAt]))
  const lastRead = (day: LocalDay) => lastReads.get(keyOf(day))
  const oldestReadFirst = (all: readonly LocalDay[]) =>
    all.toSorted((a, b) => (lastRead(a) ?? 0) - (lastRead(b) ?? 0))
  const notReadYet = (all: readonly LocalDay[], most: number) => {
    const due = all.filter((day) => now - (lastRead(day) ?? 0) > sameReconcileSeconds)
    return oldestReadFirst(due).slice(0, Math.max(0, most - (all.length - due.length)))
  }
  const {
    missing = [],
    unsettled = [],
    settled = [],
    failed = [],
  } = Object.groupBy(days, (day) =>
    hasGap(day) && day.to <= now ? 'failed' : groupOf(day, lastRead(day), now),
  )
  const share = Math.max(
    rereadShare.atLeast,
    Math.ceil((settled.length - recentDays) / rereadShare.oneIn),
  )
  const recent = settled.slice(0, recentDays)
  const older = settled.slice(recentDays)
  const rereads = {
    incremental: [],
    reconcile: [...notReadYet(recent, recentDays), ...notReadYet(older, share)],
  }
  return {
    missing,
    unsettled: oldestReadFirst(unsettled),
    settled: mode === 'full' ? oldestReadFirst(settled) : rereads[mode],
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
