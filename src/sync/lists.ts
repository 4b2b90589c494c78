/** The lists of a project: what is new since the cursor, or all of it. */

import { readPendingRanges, type TimeRange, writePendingRanges } from '../core/pagination/pending-ranges.ts'
import type { Priority } from '../core/rate-limit/priority.ts'
import { day } from '../core/time.ts'
import type { ListStream } from '../streams/stream.ts'
import { priorityFor, type SyncRun } from './deps.ts'
import { withLookBack } from './look-back.ts'
import { resolveUnseenRows } from './missing-rows.ts'
import { readOpenConversations } from './open-conversations.ts'
import { readPages, toGaps } from './pages.ts'
import { recheckRows } from './recheck-rows.ts'
import { newlyCoveredRanges, storeStartDate, streamRange } from './start-date.ts'
import { throwIfSliceOver } from './stop.ts'

/** How many of the newest calls are read again by each pass: late ones appear among them. They fit one page. */
const maxCallRereads = 150

export async function syncList(run: SyncRun, stream: ListStream): Promise<void> {
  if (run.mode !== 'incremental') return readWholeList(run, stream)
  const stored = await run.mirror.readCursor(stream.name)
  const known = readPendingRanges(stored, streamRange(run, stream.name))
  const ranges = stored === null ? known : withLookBack(run, stream.name, known)
  const all =
    stream.name === 'calls'
      ? [...(await withLateCalls(run, ranges)), ...(await newlyCoveredRanges(run, stream.name))]
      : ranges
  await readRanges(run, stream, { cursor: stream.name, ranges: all, priority: priorityFor(run, stored === null) })
  await storeStartDate(run, stream.name)
  if (stream.name !== 'conversations') return
  if (stored !== null) await readOpenConversations(run, stream)
  await recheckRows(run, stream)
}

/**
 * The whole list, whatever the cursor says, with a census of what it shows. Cut short, it goes on where it was. Its end
 * is the new cursor, and what it did not show is asked for by id.
 */
async function readWholeList(run: SyncRun, stream: ListStream): Promise<void> {
  const cursor = `${stream.name}:whole`
  const [stored, since] = await wholeListStart(run, stream, cursor)
  const ranges = readPendingRanges(stored, streamRange(run, stream.name))
  await readRanges(run, stream, { cursor, ranges, priority: priorityFor(run, false), seenRowsKey: cursor })
  await run.mirror.resolveGaps(stream.name, since)
  await storeStartDate(run, stream.name)
  await resolveUnseenRows(run, stream, cursor)
  await run.mirror.commit({ stream: stream.name, rows: [], askedAt: run.now(), cursors: { [cursor]: null } })
  await run.mirror.forgetSeenRows(cursor)
}

/** Where a walk through the whole list stands, null = nowhere yet; and when it began, in milliseconds since 1970. */
async function wholeListStart(run: SyncRun, stream: ListStream, cursor: string): Promise<[string | null, number]> {
  const note = `${cursor}:since`
  const stored = run.mode === 'full' ? null : await run.mirror.readCursor(cursor)
  if (stored !== null) return [stored, Number((await run.mirror.readCursor(note)) ?? 0)]
  await run.mirror.forgetSeenRows(cursor)
  const since = run.now()
  await run.mirror.commit({ stream: stream.name, rows: [], askedAt: since, cursors: { [note]: String(since) } })
  return [null, since]
}

type RangesRead = {
  /** The cursor that moves with the pages. */
  readonly cursor: string
  readonly ranges: readonly TimeRange[]
  readonly priority: Priority
  readonly seenRowsKey?: string
}

async function readRanges(
  run: SyncRun,
  stream: ListStream,
  { cursor, ranges, priority: lane, seenRowsKey: census }: RangesRead,
): Promise<void> {
  for await (const read of readPages(run, {
    stream: stream.name,
    list: stream.list(run.projectId),
    ranges,
    priority: lane,
  })) {
    const { rows, refused } = stream.parseRows(read.items, run.projectId)
    const gaps = toGaps(stream.name, read)
    const at = writePendingRanges(read.pendingRanges)
    const { changed } = await run.mirror.commit({
      stream: stream.name,
      rows,
      askedAt: read.answer?.askedAt ?? run.now(),
      cursors: read.isComplete ? { [cursor]: at, [stream.name]: at } : { [cursor]: at },
      gaps,
      refused: [...read.refused, ...refused],
      learned: read.observations,
      ...(census === undefined ? {} : { seenRowsKey: census, authoritative: true }),
    })
    run.stats.recordPage(stream.name, rows.length, changed)
    if (!read.isComplete) throwIfSliceOver(run)
  }
}

/** Calls can come late: the open end begins a day earlier, but not so early that it would need another page. */
async function withLateCalls(run: SyncRun, ranges: readonly TimeRange[]): Promise<readonly TimeRange[]> {
  const pageStart = await run.mirror.nthNewestCallTime(maxCallRereads, run.cursorLimit())
  return ranges.map((range) => {
    if (range.hi !== null) return range
    const lo = Math.max(range.lo - day, pageStart ?? 0, run.startDate ?? 0)
    return { ...range, lo: Math.min(range.lo, lo) }
  })
}
