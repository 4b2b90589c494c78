/**
 * One rollup per day of the project's time zone: first the days that still change, then missing
 * ones, newest first. A day that cannot be read is a gap.
 */

import { listStreamNames, type StreamName } from '../../../schema/stream-specs.ts'
import {
  ApiError,
  describeFailure,
  isBudgetUnavailable,
  throwIfAborted,
} from '../../service/core/api-failure.ts'
import { type LocalDay, localDaysBetween } from '../../values/days.ts'
import type { EpochSeconds } from '../../values/time.ts'
import { type StoredRollup, untimedGap } from '../core/mirror.ts'
import { dayGapKey, historyGapKey, planRollups } from '../core/rollups.ts'
import type { DailyStream } from '../core/stream-kinds.ts'
import { throwIfSliceOver } from './concurrency.ts'
import { commitWithoutRows } from './pages.ts'
import {
  confirmZone,
  fetchDay,
  findRollupHistory,
  outdatedRollups,
  type RollupHistory,
  unconfirmedZoneReason,
  unreadableDayReason,
} from './rollup-days.ts'
import { createPresentTime, priorityFor, type SyncRun } from './run.ts'

export async function syncDailyRollups(run: SyncRun, stream: DailyStream): Promise<void> {
  const unconfirmed = await unconfirmedZoneReason(run.mirror, run.timeZone)
  if (unconfirmed !== null) return run.stats.fail(stream.name, `${unconfirmed}; ${confirmZone}`)
  const reports = run.stats.reports().filter(({ failed }) => failed === null)
  const thisRun = reports.map(
    ({ stream: name, skipped }) => [name, skipped === null ? 'complete' : 'skipped'] as const,
  )
  const history = await findRollupHistory(run, new Map(thisRun))
  if (history.kind === 'blocked') return recordBlocked(run, stream, history.lists)
  // Before the first response only this machine's clock shows the current day.
  const present = await createPresentTime(run)
  if (run.startDate !== null && run.startDate > present()) {
    run.notices.add('The start date lies in the future: no rollup is read before that day.')
    return
  }
  const reader = createDayReader(run, stream, present)
  await readDays(run, stream, history, reader, present())
  reader.throwIfNoneRead()
}

async function readDays(
  run: SyncRun,
  stream: DailyStream,
  history: RollupHistory,
  { readDay }: ReturnType<typeof createDayReader>,
  now: EpochSeconds,
): Promise<void> {
  const stored = await run.mirror.readRollups()
  const days = daysToMirror(run, history, stored, now)
  const gapKeys = await readGapKeys(run, stream)
  const plan = planRollups(days, stored, now, run.mode, (day) => gapKeys.has(dayGapKey(day)))
  const { unsettled, missing, settled, failed } = plan
  if (missing.length > 0) await noticeTimeZoneChange(run, stream, stored)
  run.stats.setRemaining(
    stream.name,
    unsettled.length + missing.length + settled.length + failed.length,
  )
  for (const day of unsettled) {
    await readDay(day, false)
    throwIfAborted(run.signal)
  }
  for (const [index, day] of [...missing, ...settled].entries()) {
    // The days that every run reads use up no time slice, so that a short one makes progress.
    if (index > 0) throwIfSliceOver(run)
    await readDay(day, missing.includes(day))
  }
  await finishDays(run, stream, history, days)
  for (const day of failed) {
    throwIfAborted(run.signal)
    if (run.isSliceOver?.() === true) break
    await readDay(day, true)
  }
}

/** With another time zone, also the days that replace the old rollups. */
function daysToMirror(
  run: SyncRun,
  history: RollupHistory,
  stored: readonly StoredRollup[],
  now: EpochSeconds,
) {
  const from = history.kind === 'known' ? history.from : (stored.at(-1)?.from ?? now)
  const oldest = outdatedRollups(stored, run.timeZone).at(-1)
  return localDaysBetween(Math.min(from, oldest?.from ?? from), now, run.timeZone)
}

async function readGapKeys(run: SyncRun, stream: DailyStream): Promise<ReadonlySet<string>> {
  return new Set((await run.mirror.listOpenGaps(stream.name)).map(({ dedupKey = '' }) => dedupKey))
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
  /** Stores the day, or a gap for it; nothing if it lies in the future, as a response may show. */
  const readDay = async (day: LocalDay, isFirst: boolean): Promise<void> => {
    if (day.from > present()) return
    const dedupKey = dayGapKey(day)
    const fetched = await fetchDay(run, stream, day, priorityFor(run, isFirst), present()).catch(
      recordFailure,
    )
    if (day.from > present()) return
    if (typeof fetched === 'string') {
      const gap = { stream: stream.name, from: day.from, to: day.to - 1, reason: fetched, dedupKey }
      return commitWithoutRows(run, stream.name, { gaps: [gap] })
    }
    ;[inARow, hasRead] = [0, true]
    const rows = [stream.parseRow(fetched.data, day, run.timeZone, present())]
    const { requestedAt } = fetched
    const page = { stream: stream.name, rows, requestedAt, resolvedGapKeys: [dedupKey] }
    run.stats.recordPage(stream.name, 1, await run.mirror.commit(page))
  }
  const throwIfNoneRead = () => {
    if (!hasRead && firstError !== undefined) throw firstError
  }
  return { readDay, throwIfNoneRead }
}

/** Null if no other day can be read either: a denied key, a stopped run, no budget. */
function failedDayReason(error: unknown): string | null {
  if (!(error instanceof ApiError)) return null
  const { failure } = error
  const isOfDay =
    failure.kind === 'refused' || (failure.kind === 'transient' && !isBudgetUnavailable(failure))
  return isOfDay ? describeFailure(failure) : null
}

/** Requests nothing, because a history that begins today would look complete. */
async function recordBlocked(
  run: SyncRun,
  stream: DailyStream,
  lists: readonly StreamName[],
): Promise<void> {
  const reason =
    `no rollup has been read, as ${lists.join(', ')} ` +
    `${lists.length === 1 ? 'has' : 'have'} never been read to the end, ` +
    'so the first day is unknown (a start date would define it)'
  const gaps = [untimedGap(stream.name, reason, historyGapKey)]
  await commitWithoutRows(run, stream.name, { gaps })
  run.earlyEnds.set(stream.name, 'blocked')
}

/** Old rollups that are not covered yet stay until then: a gap says so. */
async function noticeTimeZoneChange(
  run: SyncRun,
  stream: DailyStream,
  stored: readonly StoredRollup[],
) {
  const outdated = outdatedRollups(stored, run.timeZone)
  const newest = outdated[0]
  const oldest = outdated.at(-1)
  if (newest === undefined || oldest === undefined) return
  run.notices.add(
    `The rollups were days of ${newest.timeZone}; they are read again as days of ` +
      `${run.timeZone}, one request per day.`,
  )
  const reason = `the rollups of these days are read again, as days of ${run.timeZone}`
  const gap = {
    stream: stream.name,
    from: oldest.from,
    to: newest.to - 1,
    reason,
    dedupKey: historyGapKey,
  }
  await commitWithoutRows(run, stream.name, { gaps: [gap] })
}

/** Every day from the first known one has been read, or is a gap of its own. */
async function finishDays(
  run: SyncRun,
  stream: DailyStream,
  history: RollupHistory,
  days: readonly LocalDay[],
) {
  const reason =
    'how far back the rollups go is not known, as neither ' +
    `${listStreamNames.join(' nor ')} are mirrored: ` +
    'set DESKMIRROR_START_DATE'
  const gap = {
    stream: stream.name,
    from: null,
    to: (days.at(-1)?.from ?? 0) - 1,
    reason,
    dedupKey: historyGapKey,
  }
  const isUnknown = history.kind === 'unknown'
  const current = new Set(days.map(dayGapKey))
  const outdated = [...(await readGapKeys(run, stream))].filter(
    (key) => key !== historyGapKey && !current.has(key),
  )
  await commitWithoutRows(run, stream.name, {
    gaps: isUnknown ? [gap] : [],
    resolvedGapKeys: [...outdated, ...(isUnknown ? [] : [historyGapKey])],
  })
}
