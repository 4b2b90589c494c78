/** The rollups: one a day, in the days of the project's time zone. Those that are missing come first, the newest first. */
import type { ApiResponse } from '../core/api-request.ts'
import { type LocalDay, localDateOfDay, localDaysBetween } from '../core/days.ts'
import type { StoredRollup } from '../core/mirror.ts'
import {
  daysToReread,
  type LastReadLookup,
  missingDays,
  plannedRereads,
  type RereadCounts,
  readRereadCounts,
  unsettledDays,
  writeRereadCounts,
} from '../core/rollups.ts'
import type { StreamName } from '../core/row.ts'
import { rfc3339, type Seconds } from '../core/time.ts'
import type { DailyStream } from '../streams/stream.ts'
import { createPresentTime } from './clocks.ts'
import { priorityFor, type SyncRun } from './deps.ts'
import { findRollupHistory, type RollupHistory } from './rollup-history.ts'
import { isNotFound, isRefused, throwIfSliceOver } from './stop.ts'

/** How many days a reconcile still has to read again. A number is enough: which ones is seen from when each was read. */
const rereadCursor = 'analytics:again'

/** The gap of days before those that are read. */
const historyGapSubject = 'history'

export async function syncDailyRollups(run: SyncRun, stream: DailyStream): Promise<void> {
  const history = await findRollupHistory(run, listStandings(run))
  if (history.kind === 'waiting') return recordWaiting(run, stream, history.lists)
  // Before the service has answered, only this machine's clock says which day it is.
  const present = await createPresentTime(run)
  const assumed = present()
  const isRight = () => isSameDay(present(), assumed, run.timeZone)
  const wasRight = await readDays(run, stream, history, { present, isRight })
  if (!wasRight) await readDays(run, stream, history, { present, isRight: () => true })
}

type DayClock = { readonly present: () => Seconds; readonly isRight: () => boolean }

/** False after the first answer, which is not stored, where that shows that it is another day. */
async function readDays(run: SyncRun, stream: DailyStream, history: RollupHistory, clock: DayClock): Promise<boolean> {
  const { present, isRight } = clock
  const now = present()
  const stored = await run.mirror.rollups()
  noticeTimeZoneChange(run, stored)
  const from = history.kind === 'known' ? history.from : (stored.at(-1)?.from ?? now)
  const days = localDaysBetween(from, now, run.timeZone)
  const lastRead = toLastReadLookup(stored)
  const [missing, unsettled] = [missingDays(days, lastRead), unsettledDays(days, lastRead, now)]
  const settled = days.filter((one) => !missing.includes(one) && !unsettled.includes(one))
  const [last, older] = daysToReread(settled, lastRead, await rereadsOfRun(run, settled.length))
  // What is asked for each time comes last, so that the shortest portion of a pass brings it nearer to its end.
  const all = [...missing, ...last, ...older, ...unsettled]
  run.stats.setRemaining(stream.name, all.length)
  for (const [index, one] of all.entries()) {
    const left = Math.max(0, all.length - unsettled.length - index - 1)
    const rereads = { last: Math.max(0, left - older.length), older: Math.min(left, older.length) }
    const answer = await fetchDay(run, stream, one, { isFirst: index < missing.length, present })
    if (index === 0 && !isRight()) return false
    const cursors =
      run.mode === 'reconcile' && index >= missing.length ? { [rereadCursor]: writeRereadCounts(rereads) } : {}
    const rows = [stream.parseRow(answer.data, one, run.timeZone, present())]
    const { changed } = await run.mirror.commit({ stream: stream.name, rows, askedAt: answer.askedAt, cursors })
    run.stats.recordPage(stream.name, 1, changed)
    if (one !== all.at(-1)) throwIfSliceOver(run)
  }
  await finishDays(run, stream, history, days.at(-1)?.from ?? from)
  return true
}

function isSameDay(a: Seconds, b: Seconds, zone: string): boolean {
  return localDaysBetween(a, b, zone).length === 1 && localDaysBetween(b, a, zone).length === 1
}

/** How the lists stand that this run has read before. */
function listStandings(run: SyncRun): ReadonlyMap<StreamName, 'ended' | 'skipped'> {
  const read = run.stats.reports().filter(({ failed }) => failed === null)
  return new Map(read.map(({ stream, skipped }) => [stream, skipped === null ? 'ended' : 'skipped']))
}

/** Nothing is asked: a history that begins today would look complete. */
async function recordWaiting(run: SyncRun, stream: DailyStream, lists: readonly StreamName[]): Promise<void> {
  const reason =
    `no rollup has been read, as ${lists.join(', ')} ${lists.length === 1 ? 'has' : 'have'} never been read to the end, ` +
    'and so the first day is not known (a start date would say it)'
  const gaps = [{ stream: stream.name, from: null, to: null, reason, subject: historyGapSubject }]
  await run.mirror.commit({ stream: stream.name, rows: [], askedAt: run.now(), gaps })
  run.waitingStreams.add(stream.name)
}

function toLastReadLookup(stored: readonly StoredRollup[]): LastReadLookup {
  const nameOf = ({ from, to }: Pick<LocalDay, 'from' | 'to'>) => `${from}/${to}`
  const known = new Map(stored.map((one) => [nameOf(one), one.readAt]))
  return (one) => known.get(nameOf(one))
}

/** The first day that is stored now takes the place of all that is of another zone. */
function noticeTimeZoneChange(run: SyncRun, stored: readonly StoredRollup[]): void {
  const others = stored.filter(({ timeZone }) => timeZone !== run.timeZone)
  const foreign = others.filter((one) => localDateOfDay(one, run.timeZone) === null)
  if (foreign.length === 0) return
  const previousZone = foreign[0]?.timeZone ?? 'another time zone'
  run.notices.add(
    `The rollups were days of ${previousZone}; they are read again as days of ${run.timeZone}, one request a day.`,
  )
}

/** A reconcile that was cut short goes on with what it had left. */
async function rereadsOfRun(run: SyncRun, days: number): Promise<RereadCounts> {
  const note = run.mode === 'reconcile' ? readRereadCounts(await run.mirror.readCursor(rereadCursor)) : null
  return note ?? plannedRereads(run.mode, days)
}

/** Every day is there, from the first one that is known. */
async function finishDays(run: SyncRun, stream: DailyStream, history: RollupHistory, first: Seconds): Promise<void> {
  const reason =
    'how far back the rollups go is not known, as neither conversations nor visitors nor calls are mirrored: ' +
    'set DESKMIRROR_START_DATE'
  const gap = { stream: stream.name, from: null, to: first - 1, reason, subject: historyGapSubject }
  await run.mirror.commit({
    stream: stream.name,
    rows: [],
    askedAt: run.now(),
    cursors: { [rereadCursor]: null },
    ...(history.kind === 'unknown' ? { gaps: [gap] } : { resolvedGapSubjects: [historyGapSubject] }),
  })
}

type DayRequest = { readonly isFirst: boolean; readonly present: () => Seconds }

function fetchDay(
  run: SyncRun,
  stream: DailyStream,
  one: LocalDay,
  { isFirst, present }: DayRequest,
): Promise<ApiResponse> {
  const query = (to: Seconds) => ({ from: rfc3339(one.from), to: rfc3339(to) })
  const get = (to: Seconds) => run.get(stream.path(run.projectId), query(to), priorityFor(run, isFirst))
  const now = present()
  return get(one.to).catch((error) => {
    // The day in progress ends in the future, which a service may not accept.
    if (isRefused(error) && !isNotFound(error) && one.to > now) return get(now)
    throw error
  })
}
