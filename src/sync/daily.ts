/** The rollups: one a day, the day in progress again each time, a past day until it has settled. */
import { type Day, daysBetween } from '../core/days.ts'
import { day, hour, rfc3339, type Seconds } from '../core/time.ts'
import type { DailyStream } from '../streams/stream.ts'
import { laneFor, type Run } from './deps.ts'
import { isGone, isRefused, stopIfEnough } from './stop.ts'

/** A day's rollup may still change for so long after its end (late calls, late replies). */
const settling = day

/** A past day that may still change is read again not more often than this. */
const pause = 6 * hour

/** A reconcile reads the last days again, settled or not. */
const doubted = 7 * day

export async function syncDaily(run: Run, stream: DailyStream): Promise<void> {
  const now = run.serviceNow()
  const first = run.startDate ?? (await run.mirror.earliest()) ?? now
  const days = daysBetween(first, now, run.timeZone)
  const read = await run.mirror.rollups(days.at(-1)?.from ?? first)
  const due = days.filter((one) => isDue(run, one, read.get(one.from), now))
  run.tally.left(stream.name, due.length)
  for (const one of due) {
    await readDay(run, stream, one, read.has(one.from))
    if (one !== due.at(-1)) stopIfEnough(run)
  }
}

function isDue(run: Run, { from, to }: Day, readAt: Seconds | undefined, now: Seconds): boolean {
  if (readAt === undefined || run.mode === 'full') return true
  if (run.mode === 'reconcile' && from > now - doubted) return true
  const settled = readAt >= to + settling
  return !settled && (to > now || readAt < to || now - readAt > pause)
}

async function readDay(run: Run, stream: DailyStream, one: Day, again: boolean): Promise<void> {
  const lane = laneFor(run, !again)
  const ask = (to: Seconds) => run.get(stream.path(run.project), { from: rfc3339(one.from), to: rfc3339(to) }, lane)
  const now = run.serviceNow()
  const answer = await ask(one.to).catch((error) => {
    // The day in progress ends in the future, which a service may not accept.
    if (isRefused(error) && !isGone(error) && one.to > now) return ask(now)
    throw error
  })
  const rows = [stream.row(answer.data, one, answer.servedAt ?? now)]
  const { changed } = await run.mirror.commit({ stream: stream.name, rows, askedAt: answer.askedAt })
  run.tally.stored(stream.name, 1, changed)
}
