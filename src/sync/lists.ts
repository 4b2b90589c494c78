/** Syncs the lists of a project: the rows since the cursor, or all of them. */
import { formatPendingRanges, type PendingRanges, parsePendingRanges } from '../core/pagination/pending-ranges.ts'
import type { Priority } from '../core/rate-limit/priority.ts'
import { daySeconds, type EpochMs, type Ms } from '../core/time.ts'
import type { ListStream } from '../streams/stream.ts'
import { recheckRows, resolveUnseenRows } from './missing-rows.ts'
import { readOpenConversations } from './open-conversations.ts'
import { commitPage, readPages, toGaps } from './pages.ts'
import { priorityFor, type SyncRun } from './run.ts'
import { newlyCoveredRanges, storeStartDate, streamRange, withLookBack } from './start-date.ts'
import { throwIfSliceOver } from './stop.ts'

/** How many of the newest calls each run reads again, because late calls appear among them. They fit into one page. */
const maxCallRereads = 150

/** A read of a whole list that began earlier begins anew: what it had read may have changed since. */
const continuedWithinMs: Ms = 7 * daySeconds * 1000

export async function syncList(run: SyncRun, stream: ListStream): Promise<void> {
  if (run.mode !== 'incremental') return readWholeList(run, stream)
  const stored = await run.mirror.readCursor(stream.name)
  const known = parsePendingRanges(stored, streamRange(run, stream.name))
  const ranges = stored === null ? known : withLookBack(run, stream.name, known)
  const recent = stream.name === 'calls' ? await withLateArrivingCalls(run, ranges) : ranges
  const all = [...recent, ...(await newlyCoveredRanges(run, stream.name))]
  await readRanges(run, stream, { cursorName: stream.name, ranges: all, priority: priorityFor(run, stored === null) })
  await storeStartDate(run, stream.name)
  if (stream.name !== 'conversations') return
  if (stored !== null) await readOpenConversations(run, stream)
  await recheckRows(run, stream)
}

/**
 * Reads the whole list regardless of the cursor, and records which rows it shows. An interrupted read continues in the
 * next run. The end is the new cursor, and rows that the list did not show are requested by their ids.
 */
async function readWholeList(run: SyncRun, stream: ListStream): Promise<void> {
  const cursorName = `${stream.name}:whole`
  const [stored, since] = await wholeListStart(run, cursorName)
  const ranges = parsePendingRanges(stored, streamRange(run, stream.name))
  await readRanges(run, stream, { cursorName, ranges, priority: priorityFor(run, false), seenRowsKey: cursorName })
  await run.mirror.resolveGaps(stream.name, since)
  await storeStartDate(run, stream.name)
  await resolveUnseenRows(run, stream, cursorName)
  await run.mirror.writeCursor(cursorName, null)
  await run.mirror.forgetSeenRows(cursorName)
}

/** The cursor of an unfinished read of the whole list (null = none), and when that read began. */
async function wholeListStart(run: SyncRun, cursorName: string): Promise<[string | null, EpochMs]> {
  const sinceCursorName = `${cursorName}:since`
  const stored = run.mode === 'full' ? null : await run.mirror.readCursor(cursorName)
  const startedAt = Number((await run.mirror.readCursor(sinceCursorName)) ?? 0)
  if (stored !== null && run.now() - startedAt <= continuedWithinMs) return [stored, startedAt]
  await run.mirror.forgetSeenRows(cursorName)
  const since = run.now()
  await run.mirror.writeCursor(sinceCursorName, String(since))
  return [null, since]
}

type RangesRead = {
  /** The name of the cursor that is stored with each page. */
  readonly cursorName: string
  readonly ranges: PendingRanges
  readonly priority: Priority
  readonly seenRowsKey?: string
}

async function readRanges(run: SyncRun, stream: ListStream, read: RangesRead): Promise<void> {
  const { cursorName, ranges, priority, seenRowsKey } = read
  const list = stream.list(run.projectId)
  for await (const batch of readPages(run, { stream: stream.name, list, ranges, priority })) {
    const cursor = formatPendingRanges(batch.pendingRanges)
    await commitPage(run, stream.name, batch, stream.parseRows(batch.items, run.projectId), {
      cursors: batch.isComplete ? { [cursorName]: cursor, [stream.name]: cursor } : { [cursorName]: cursor },
      gaps: toGaps(stream.name, batch),
      ...(seenRowsKey === undefined ? {} : { seenRowsKey, isAuthoritative: true }),
    })
    if (!batch.isComplete) throwIfSliceOver(run)
  }
}

/** Calls can appear late: the open range begins a day earlier, but not so early that it needs another page. */
async function withLateArrivingCalls(run: SyncRun, ranges: PendingRanges): Promise<PendingRanges> {
  const pageStart = await run.mirror.nthNewestCallTime(maxCallRereads, run.cursorLimit())
  return ranges.map((range) => {
    if (range.hi !== null) return range
    const lo = Math.max(range.lo - daySeconds, pageStart ?? 0, run.startDate ?? 0)
    return { ...range, lo: Math.min(range.lo, lo) }
  })
}
