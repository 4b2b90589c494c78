/** The rollups: one per day of the project's time zone. Missing days are read first, newest first. */
import { isNotFound, isRefused } from '../core/api-failure.ts'
import { type LocalDay, localDateOfDay, localDaysBetween } from '../core/days.ts'
import type { StoredRollup } from '../core/mirror.ts'
import type { Priority } from '../core/rate-limit/priority.ts'
import { historyGapKey, planRollups, readRereadCounts, writeRereadCounts } from '../core/rollups.ts'
import { listStreamNames, type StreamName } from '../core/stream-specs.ts'
import { type EpochSeconds, rfc3339 } from '../core/time.ts'
import type { DailyStream } from '../streams/stream.ts'
import { createPresentTime } from './clocks.ts'
import { findRollupHistory, type RollupHistory } from './rollup-history.ts'
import { priorityFor, type SyncRun } from './run.ts'
import { throwIfSliceOver } from './stop.ts'

/** How many days a reconcile still has to read again. The times of their last reads show which ones. */
const rereadCursor = 'analytics:again'

export async function syncDailyRollups(run: SyncRun, stream: DailyStream): Promise<void> {
  const history = await findRollupHistory(run, listReadStatuses(run))
  if (history.kind === 'waiting') return recordWaiting(run, stream, history.lists)
  // Before the first response only this machine's clock shows the current day.
  const present = await createPresentTime(run)
  const assumedTime = present()
  const isDayRight = () => isSameDay(present(), assumedTime, run.timeZone)
  const isDone = await readDays(run, stream, history, { present, isDayRight })
  if (!isDone) await readDays(run, stream, history, { present, isDayRight: () => true })
}

type DayClock = { readonly present: () => EpochSeconds; readonly isDayRight: () => boolean }

/** False if the first response shows that the current day is another one; that response is not stored. */
async function readDays(run: SyncRun, stream: DailyStream, history: RollupHistory, clock: DayClock): Promise<boolean> {
  const { present, isDayRight } = clock
  const now = present()
  const stored = await run.mirror.readRollups()
  noticeTimeZoneChange(run, stored)
  const from = history.kind === 'known' ? history.from : (stored.at(-1)?.from ?? now)
  const days = localDaysBetween(from, now, run.timeZone)
  // An interrupted reconcile continues with its remaining days.
  const remaining = run.mode === 'reconcile' ? readRereadCounts(await run.mirror.readCursor(rereadCursor)) : null
  const { missing, last, older, unsettled } = planRollups(days, stored, now, run.mode, remaining)
  // The days that every run reads come last, so that even a short time slice makes progress with the others.
  const all = [...missing, ...last, ...older, ...unsettled]
  run.stats.setRemaining(stream.name, all.length)
  for (const [index, day] of all.entries()) {
    const left = Math.max(0, all.length - unsettled.length - index - 1)
    const rereads = { last: Math.max(0, left - older.length), older: Math.min(left, older.length) }
    const isFirst = index < missing.length
    const { data, requestedAt } = await fetchDay(run, stream, day, priorityFor(run, isFirst), present())
    if (index === 0 && !isDayRight()) return false
    const cursors = run.mode === 'reconcile' && !isFirst ? { [rereadCursor]: writeRereadCounts(rereads) } : {}
    const rows = [stream.parseRow(data, day, run.timeZone, present())]
    run.stats.recordPage(stream.name, 1, await run.mirror.commit({ stream: stream.name, rows, requestedAt, cursors }))
    if (day !== all.at(-1)) throwIfSliceOver(run)
  }
  await finishDays(run, stream, history, days.at(-1)?.from ?? from)
  return true
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

/** The first rollup that is stored in a new time zone replaces all rollups of the previous one. */
function noticeTimeZoneChange(run: SyncRun, stored: readonly StoredRollup[]): void {
  const others = stored.filter(({ timeZone }) => timeZone !== run.timeZone)
  const outdated = others.filter((rollup) => localDateOfDay(rollup, run.timeZone) === null)
  if (outdated.length === 0) return
  const previousZone = outdated[0]?.timeZone ?? 'another time zone'
  const reread = `they are read again as days of ${run.timeZone}, one request per day`
  run.notices.add(`The rollups were days of ${previousZone}; ${reread}.`)
}

/** Every day from the first known one has been read. */
async function finishDays(run: SyncRun, stream: DailyStream, history: RollupHistory, first: EpochSeconds) {
  const reason =
    `how far back the rollups go is not known, as neither ${listStreamNames.join(' nor ')} are mirrored: ` +
    'set DESKMIRROR_START_DATE'
  const gap = { stream: stream.name, from: null, to: first - 1, reason, dedupKey: historyGapKey }
  await run.mirror.commit({
    stream: stream.name,
    rows: [],
    requestedAt: run.now(),
    cursors: { [rereadCursor]: null },
    ...(history.kind === 'unknown' ? { gaps: [gap] } : { resolvedGapKeys: [historyGapKey] }),
  })
}

function fetchDay(run: SyncRun, stream: DailyStream, day: LocalDay, priority: Priority, now: EpochSeconds) {
  const query = (to: EpochSeconds) => ({ from: rfc3339(day.from), to: rfc3339(to) })
  const get = (to: EpochSeconds) => run.get(stream.path(run.projectId), query(to), priority)
  return get(day.to).catch((error) => {
    // The current day ends in the future, which a service may not accept.
    if (isRefused(error) && !isNotFound(error) && day.to > now) return get(now)
    throw error
  })
}
