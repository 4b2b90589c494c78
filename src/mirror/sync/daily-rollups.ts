/**
 * The rollups: one per day of the project's time zone. The days that still change come first, then missing days, newest
 * first. A day that cannot be read is a gap of that day, and the others are read.
 */

import { listStreamNames, type StreamName } from '../../../schema/stream-specs.ts'
import { ApiError, describeFailure, isBudgetUnavailable } from '../../service/core/api-failure.ts'
import type { Priority } from '../../service/core/priority.ts'
import { type LocalDay, localDaysBetween } from '../../values/days.ts'
import type { EpochSeconds } from '../../values/time.ts'
import type { StoredRollup } from '../core/mirror.ts'
import {
  dayGapKey,
  historyGapKey,
  planRollups,
  type RereadCounts,
  readRereadCounts,
  writeRereadCounts,
} from '../core/rollups.ts'
import type { DailyStream } from '../streams/stream.ts'
import { createPresentTime } from './clocks.ts'
import { fetchDay, unreadableDayReason } from './fetch-rollup.ts'
import { findRollupHistory, type RollupHistory } from './rollup-history.ts'
import { confirmZone, outdatedRollups, unconfirmedZoneReason } from './rollup-time-zone.ts'
import { priorityFor, type SyncRun } from './run.ts'
import { throwIfAborted, throwIfSliceOver } from './stop.ts'

/** How many days a reconcile still has to read again. The times of their last reads show which ones. */
const rereadCursor = 'analytics:again'

export async function syncDailyRollups(run: SyncRun, stream: DailyStream): Promise<void> {
  const unconfirmed = await unconfirmedZoneReason(run.mirror, run.timeZone)
  if (unconfirmed !== null) return run.stats.fail(stream.name, `${unconfirmed}; ${confirmZone}`)
  const history = await findRollupHistory(run, listReadStatuses(run))
  if (history.kind === 'waiting') return recordWaiting(run, stream, history.lists)
  // Before the first response only this machine's clock shows the current day.
  const present = await createPresentTime(run)
  if (run.startDate !== null && run.startDate > present()) {
    run.notices.add('The start date lies in the future: no rollup is read before that day.')
    return
  }
  const assumedTime = present()
  const isDayRight = () => isSameDay(present(), assumedTime, run.timeZone)
  const reader = createDayReader(run, stream, present)
  const isDone = await readDays(run, stream, history, { ...reader, present, isDayRight })
  if (!isDone) await readDays(run, stream, history, { ...reader, present, isDayRight: () => true })
  reader.throwIfNoneRead()
}

type DayClock = { readonly present: () => EpochSeconds; readonly isDayRight: () => boolean }

/** False if the first response shows that the current day is another one; that response is not stored. */
async function readDays(
  run: SyncRun,
  stream: DailyStream,
  history: RollupHistory,
  { readDay, present, isDayRight }: DayClock & Pick<ReturnType<typeof createDayReader>, 'readDay'>,
): Promise<boolean> {
  const now = present()
  const stored = await run.mirror.readRollups()
  const days = daysToMirror(run, history, stored, now)
  // An interrupted reconcile continues with its remaining days.
  const remaining = run.mode === 'reconcile' ? readRereadCounts(await run.mirror.readCursor(rereadCursor)) : null
  const gapKeys = await readGapKeys(run, stream)
  const plan = planRollups(days, stored, now, run.mode, remaining, (day) => gapKeys.has(dayGapKey(day)))
  const { unsettled, missing, last, older, failed } = plan
  if (missing.length > 0) await noticeTimeZoneChange(run, stream, stored)
  const all = [...unsettled, ...missing, ...last, ...older]
  run.stats.setRemaining(stream.name, all.length + failed.length)
  for (const [index, day] of all.entries()) {
    const left = Math.max(0, Math.min(last.length + older.length, all.length - index - 1))
    const rereads = { last: Math.max(0, left - older.length), older: Math.min(left, older.length) }
    const isFirst = missing.includes(day)
    const isReread = run.mode === 'reconcile' && index >= unsettled.length + missing.length
    const options = { priority: priorityFor(run, isFirst), rereads: isReread ? rereads : null, isDayRight }
    if (!(await readDay(day, options))) return false
    // The days that every run reads do not use up a time slice, so that a short one makes progress with the others.
    if (index < unsettled.length) throwIfAborted(run.signal)
    else if (index < all.length - 1) throwIfSliceOver(run)
  }
  await finishDays(run, stream, history, days)
  for (const day of failed) {
    throwIfAborted(run.signal)
    if (run.isSliceOver?.() === true) break
    await readDay(day, { priority: priorityFor(run, true), rereads: null, isDayRight: () => true })
  }
  return true
}

/** With another time zone also the days before the first known row, so that each of the old rollups is replaced. */
function daysToMirror(run: SyncRun, history: RollupHistory, stored: readonly StoredRollup[], now: EpochSeconds) {
  const from = history.kind === 'known' ? history.from : (stored.at(-1)?.from ?? now)
  const oldest = outdatedRollups(stored, run.timeZone).at(-1)
  return localDaysBetween(Math.min(from, oldest?.from ?? from), now, run.timeZone)
}

async function readGapKeys(run: SyncRun, stream: DailyStream): Promise<ReadonlySet<string>> {
  return new Set((await run.mirror.listOpenGaps(stream.name)).map(({ dedupKey = '' }) => dedupKey))
}

type DayRead = {
  readonly priority: Priority
  /** What a reconcile still has to read again afterwards; null = the day is not one of those. */
  readonly rereads: RereadCounts | null
  readonly isDayRight: () => boolean
}

/** From so many failures in a row on it is not the days that cannot be read. */
const maxFailuresInARow = 3

function createDayReader(run: SyncRun, stream: DailyStream, present: () => EpochSeconds) {
  let inARow = 0
  let hasRead = false
  let firstError: unknown
  const recordFailure = (error: unknown): string => {
    const why = failedDayReason(error)
    firstError ??= error
    inARow += 1
    const isOfDays = hasRead && unreadableDayReason(error) !== null
    if (why === null || (inARow >= maxFailuresInARow && !isOfDays)) throw error
    return why
  }
  return {
    /** Stores the day, or a gap for it. False: its response shows that the current day is another one. */
    readDay: async (day: LocalDay, { priority, rereads, isDayRight }: DayRead): Promise<boolean> => {
      const cursors = rereads === null ? {} : { [rereadCursor]: writeRereadCounts(rereads) }
      const dedupKey = dayGapKey(day)
      const fetched = await fetchDay(run, stream, day, priority, present()).catch(recordFailure)
      if (!isDayRight()) return false
      if (typeof fetched === 'string') {
        const gap = { stream: stream.name, from: day.from, to: day.to - 1, reason: fetched, dedupKey }
        await run.mirror.commit({ stream: stream.name, rows: [], requestedAt: run.now(), cursors, gaps: [gap] })
        return true
      }
      ;[inARow, hasRead] = [0, true]
      const { data, requestedAt } = fetched
      const rows = [stream.parseRow(data, day, run.timeZone, present())]
      const page = { stream: stream.name, rows, requestedAt, cursors, resolvedGapKeys: [dedupKey] }
      run.stats.recordPage(stream.name, 1, await run.mirror.commit(page))
      return true
    },
    throwIfNoneRead: () => {
      if (!hasRead && firstError !== undefined) throw firstError
    },
  }
}

/** Null if no other day can be read either: the key is denied, the run is stopped, or nothing may be sent. */
function failedDayReason(error: unknown): string | null {
  if (!(error instanceof ApiError)) return null
  const { failure } = error
  const isOfDay = failure.kind === 'refused' || (failure.kind === 'transient' && !isBudgetUnavailable(failure))
  return isOfDay ? describeFailure(failure) : null
}

function isSameDay(a: EpochSeconds, b: EpochSeconds, zone: string): boolean {
  return localDaysBetween(a, b, zone).length === 1 && localDaysBetween(b, a, zone).length === 1
}

/** The read statuses of the lists that this run has already read. */
function listReadStatuses(run: SyncRun): ReadonlyMap<StreamName, 'complete' | 'skipped'> {
  const read = run.stats.reports().filter(({ failed }) => failed === null)
  return new Map(read.map(({ stream, skipped }) => [stream, skipped === null ? 'complete' : 'skipped']))
}

/** Requests nothing, because a history that begins today would look complete. */
async function recordWaiting(run: SyncRun, stream: DailyStream, lists: readonly StreamName[]): Promise<void> {
  const reason =
    `no rollup has been read, as ${lists.join(', ')} ${lists.length === 1 ? 'has' : 'have'} never been read to the end, ` +
    'so the first day is unknown (a start date would define it)'
  const gaps = [{ stream: stream.name, from: null, to: null, reason, dedupKey: historyGapKey }]
  await run.mirror.commit({ stream: stream.name, rows: [], requestedAt: run.now(), gaps })
  run.waitingStreams.add(stream.name)
}

/** Until every day has been read in the new time zone, the old rollups that are not covered yet stay: a gap says so. */
async function noticeTimeZoneChange(run: SyncRun, stream: DailyStream, stored: readonly StoredRollup[]) {
  const outdated = outdatedRollups(stored, run.timeZone)
  const [newest, oldest] = [outdated[0], outdated.at(-1)]
  if (newest === undefined || oldest === undefined) return
  const previousZone = newest.timeZone ?? 'another time zone'
  run.notices.add(
    `The rollups were days of ${previousZone}; they are read again as days of ${run.timeZone}, one request per day.`,
  )
  const reason = `the rollups of these days are read again, as days of ${run.timeZone}`
  const gap = { stream: stream.name, from: oldest.from, to: newest.to - 1, reason, dedupKey: historyGapKey }
  await run.mirror.commit({ stream: stream.name, rows: [], requestedAt: run.now(), gaps: [gap] })
}

/** Every day from the first known one has been read, or is a gap of its own. */
async function finishDays(run: SyncRun, stream: DailyStream, history: RollupHistory, days: readonly LocalDay[]) {
  const reason =
    `how far back the rollups go is not known, as neither ${listStreamNames.join(' nor ')} are mirrored: ` +
    'set DESKMIRROR_START_DATE'
  const gap = { stream: stream.name, from: null, to: (days.at(-1)?.from ?? 0) - 1, reason, dedupKey: historyGapKey }
  const isUnknown = history.kind === 'unknown'
  const current = new Set(days.map(dayGapKey))
  const outdated = [...(await readGapKeys(run, stream))].filter((key) => key !== historyGapKey && !current.has(key))
  await run.mirror.commit({
    stream: stream.name,
    rows: [],
    requestedAt: run.now(),
    cursors: { [rereadCursor]: null },
    gaps: isUnknown ? [gap] : [],
    resolvedGapKeys: [...outdated, ...(isUnknown ? [] : [historyGapKey])],
  })
}
