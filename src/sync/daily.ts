/** The rollups: one a day, in the days of the project's time zone. Those that are missing come first, the newest first. */
import type { Answer } from '../core/call.ts'
import { type Day, dateOfDay, daysBetween } from '../core/days.ts'
import type { Rollup } from '../core/mirror.ts'
import {
  type Again,
  againOf,
  daysToReadAgain,
  missingDays,
  type ReadAt,
  readAgainNote,
  unsettledDays,
  writeAgain,
} from '../core/rollups.ts'
import type { StreamName } from '../core/row.ts'
import { rfc3339, type Seconds } from '../core/time.ts'
import type { DailyStream } from '../streams/stream.ts'
import { presentOf } from './clocks.ts'
import { laneFor, type Run } from './deps.ts'
import { type History, historyOf } from './history.ts'
import { isGone, isRefused, stopIfEnough } from './stop.ts'

/** How many days a reconcile still has to read again. A number is enough: which ones is seen from when each was read. */
const againNote = 'analytics:again'

/** The gap of days before those that are read. */
const subject = 'history'

export async function syncDaily(run: Run, stream: DailyStream): Promise<void> {
  const history = await historyOf(run, listsOf(run))
  if (history.kind === 'waiting') return wait(run, stream, history.lists)
  // Before the service has answered, only this machine's clock says which day it is.
  const present = await presentOf(run)
  const assumed = present()
  const isRight = () => isSameDay(present(), assumed, run.timeZone)
  const wasRight = await readDays(run, stream, history, { present, isRight })
  if (!wasRight) await readDays(run, stream, history, { present, isRight: () => true })
}

type Clock = { readonly present: () => Seconds; readonly isRight: () => boolean }

/** False after the first answer, which is not stored, where that shows that it is another day. */
async function readDays(run: Run, stream: DailyStream, history: History, clock: Clock): Promise<boolean> {
  const { present, isRight } = clock
  const now = present()
  const stored = await run.mirror.rollups()
  noticeZone(run, stored)
  const from = history.kind === 'known' ? history.from : (stored.at(-1)?.from ?? now)
  const days = daysBetween(from, now, run.timeZone)
  const readAt = readBefore(stored)
  const [missing, unsettled] = [missingDays(days, readAt), unsettledDays(days, readAt, now)]
  const settled = days.filter((one) => !missing.includes(one) && !unsettled.includes(one))
  const [last, older] = daysToReadAgain(settled, readAt, await againOfRun(run, settled.length))
  // What is asked for each time comes last, so that the shortest portion of a pass brings it nearer to its end.
  const all = [...missing, ...last, ...older, ...unsettled]
  run.tally.left(stream.name, all.length)
  for (const [nth, one] of all.entries()) {
    const left = Math.max(0, all.length - unsettled.length - nth - 1)
    const again = { last: Math.max(0, left - older.length), older: Math.min(left, older.length) }
    const answer = await ask(run, stream, one, { isFirst: nth < missing.length, present })
    if (nth === 0 && !isRight()) return false
    const cursors = run.mode === 'reconcile' && nth >= missing.length ? { [againNote]: writeAgain(again) } : {}
    const rows = [stream.row(answer.data, one, run.timeZone, present())]
    const { changed } = await run.mirror.commit({ stream: stream.name, rows, askedAt: answer.askedAt, cursors })
    run.tally.stored(stream.name, 1, changed)
    if (one !== all.at(-1)) stopIfEnough(run)
  }
  await finish(run, stream, history, days.at(-1)?.from ?? from)
  return true
}

function isSameDay(a: Seconds, b: Seconds, zone: string): boolean {
  return daysBetween(a, b, zone).length === 1 && daysBetween(b, a, zone).length === 1
}

/** How the lists stand that this run has read before. */
function listsOf(run: Run): ReadonlyMap<StreamName, 'ended' | 'skipped'> {
  const read = run.tally.reports().filter(({ failed }) => failed === null)
  return new Map(read.map(({ stream, skipped }) => [stream, skipped === null ? 'ended' : 'skipped']))
}

/** Nothing is asked: a history that begins today would look complete. */
async function wait(run: Run, stream: DailyStream, lists: readonly StreamName[]): Promise<void> {
  const reason =
    `no rollup has been read, as ${lists.join(', ')} ${lists.length === 1 ? 'has' : 'have'} never been read to the end, ` +
    'and so the first day is not known (a start date would say it)'
  const gaps = [{ stream: stream.name, from: null, to: null, reason, subject }]
  await run.mirror.commit({ stream: stream.name, rows: [], askedAt: run.now(), gaps })
  run.waiting.add(stream.name)
}

function readBefore(stored: readonly Rollup[]): ReadAt {
  const nameOf = ({ from, to }: Pick<Day, 'from' | 'to'>) => `${from}/${to}`
  const known = new Map(stored.map((one) => [nameOf(one), one.readAt]))
  return (one) => known.get(nameOf(one))
}

/** The first day that is stored now takes the place of all that is of another zone. */
function noticeZone(run: Run, stored: readonly Rollup[]): void {
  const others = stored.filter(({ timeZone }) => timeZone !== run.timeZone)
  const foreign = others.filter((one) => dateOfDay(one, run.timeZone) === null)
  if (foreign.length === 0) return
  const were = foreign[0]?.timeZone ?? 'another time zone'
  run.notices.add(
    `The rollups were days of ${were}; they are read again as days of ${run.timeZone}, one request a day.`,
  )
}

/** A reconcile that was cut short goes on with what it had left. */
async function againOfRun(run: Run, days: number): Promise<Again> {
  const note = run.mode === 'reconcile' ? readAgainNote(await run.mirror.cursor(againNote)) : null
  return note ?? againOf(run.mode, days)
}

/** Every day is there, from the first one that is known. */
async function finish(run: Run, stream: DailyStream, history: History, first: Seconds): Promise<void> {
  const reason =
    'how far back the rollups go is not known, as neither conversations nor visitors nor calls are mirrored: ' +
    'set DESKMIRROR_START_DATE'
  const gap = { stream: stream.name, from: null, to: first - 1, reason, subject }
  await run.mirror.commit({
    stream: stream.name,
    rows: [],
    askedAt: run.now(),
    cursors: { [againNote]: null },
    ...(history.kind === 'unknown' ? { gaps: [gap] } : { filled: [subject] }),
  })
}

type Asking = { readonly isFirst: boolean; readonly present: () => Seconds }

function ask(run: Run, stream: DailyStream, one: Day, { isFirst, present }: Asking): Promise<Answer> {
  const query = (to: Seconds) => ({ from: rfc3339(one.from), to: rfc3339(to) })
  const get = (to: Seconds) => run.get(stream.path(run.project), query(to), laneFor(run, isFirst))
  const now = present()
  return get(one.to).catch((error) => {
    // The day in progress ends in the future, which a service may not accept.
    if (isRefused(error) && !isGone(error) && one.to > now) return get(now)
    throw error
  })
}
