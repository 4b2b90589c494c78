/** Streams with one list per parent: messages and visitor activity. */
import type { PageBatch } from '../api/list-reader.ts'
import type { ChildReadResult, PendingChild } from '../core/mirror.ts'
import type { PendingRanges, TimeRange } from '../core/pagination/pending-ranges.ts'
import { formatPendingRanges, parsePendingRanges } from '../core/pagination/pending-ranges.ts'
import { describeRejectedRow } from '../core/row.ts'
import type { EpochSeconds, Ms } from '../core/time.ts'
import type { ChildListStream } from '../streams/stream.ts'
import { type ChildReader, syncChildren } from './children.ts'
import { withLookBack } from './look-back.ts'
import { commitPage, readPages } from './pages.ts'
import type { SyncRun } from './run.ts'
import { isBeforeStartDate, newlyCoveredRanges, storeStartDate, streamRange } from './start-date.ts'

/** Reads the lists of all pending parents, or of all parents if the start date was moved back. */
export async function syncChildLists(run: SyncRun, stream: ChildListStream): Promise<void> {
  const isExtended = (await newlyCoveredRanges(run, stream.name)).length > 0
  if (isExtended) await run.mirror.requestFullReads(stream.name, 'all', run.now())
  await storeStartDate(run, stream.name)
  await syncChildren(run, stream.name, childListReader(run, stream))
}

/** Reads the new rows of one parent, or all of its rows, and commits them page by page. */
function childListReader(run: SyncRun, stream: ChildListStream): ChildReader {
  return async (child, priority, lowWatermark) => {
    const start = streamRange(run, stream.name)
    const isFullRead = child.mustReread || child.cursor === null
    const ranges = isFullRead ? [start] : incrementalRanges(run, stream.name, child, start)
    const list = stream.list(run.projectId, child.parentId)
    const incompleteReasons = new Set<string>()
    let duplicateCounts = new Map<string, number>()
    for await (const batch of readPages(run, { stream: stream.name, list, ranges, priority })) {
      const parsed = stream.parseRows(batch.items, child.parentId, { project: run.projectId, duplicateCounts })
      if (batch.isLastOfResponse) duplicateCounts = new Map()
      const rows = parsed.rows.filter((row) => !isBeforeStartDate(run, row))
      for (const { reason } of batch.missedRanges) incompleteReasons.add(reason)
      const readResult = () => ({
        ...toChildReadResult(run, stream, child, batch, lowWatermark),
        ...toCompleteness(isFullRead, incompleteReasons),
      })
      const end = batch.isComplete ? { child: readResult() } : {}
      const { rejectedRows = [] } = await commitPage(run, stream.name, batch, { ...parsed, rows }, end)
      for (const row of rejectedRows) incompleteReasons.add(describeRejectedRow(row))
    }
  }
}

/**
 * The ranges that may contain new rows. If the parent's time is before its cursor, the new rows are dated back: the read
 * then begins some minutes before that time.
 */
function incrementalRanges(
  run: SyncRun,
  stream: ChildListStream['name'],
  child: PendingChild,
  start: TimeRange,
): PendingRanges {
  const ranges = withLookBack(run, stream, parsePendingRanges(child.cursor, start))
  if (child.parentAt === null) return ranges
  const from = Math.max(start.lo, child.parentAt - run.lookBackSeconds)
  return ranges.map((range) => (range.hi === null ? { ...range, lo: Math.min(range.lo, from) } : range))
}

function toChildReadResult(
  run: SyncRun,
  stream: ChildListStream,
  child: PendingChild,
  batch: PageBatch,
  lowWatermark: EpochSeconds,
) {
  const cursor = formatPendingRanges(batch.pendingRanges)
  const listed = { ranges: batch.pendingRanges, cursor, lowWatermark }
  const delayMs = rereadDelayMs(run, stream.name, child, listed)
  const againAt = delayMs === null ? null : run.now() + delayMs
  return { stream: stream.name, parentId: child.parentId, requestedVersion: child.requestedVersion, cursor, againAt }
}

/** Delay until a list is read again whose last second may not have been over. */
const secondEndDelayMs = 5000
/** After this time a second is certainly over. */
const minSecondMs = 2000

/** What a read of a list showed. `cursor`: the text of `ranges`. */
type ListedRows = { readonly ranges: PendingRanges; readonly cursor: string; readonly lowWatermark: EpochSeconds }

/**
 * The delay until the list is read again although its parent shows nothing new; null = never. The first rule that applies
 * decides; 1, 3 and 4 hold within the lookback window.
 * 1. The parent shows a newer message than the list: at once.
 * 2. The list's last second may not have been over when it was read: after `secondEndDelayMs`.
 * 3. The parent shows newer activity than the list: after half the time since that activity.
 * 4. A row may still arrive late: once, at the end of the lookback window.
 */
function rereadDelayMs(
  run: SyncRun,
  stream: ChildListStream['name'],
  child: PendingChild,
  { ranges, cursor, lowWatermark }: ListedRows,
): Ms | null {
  const newestListed = ranges.reduce((at, { lo, hi }) => (hi === null ? Math.max(at, lo) : at), 0)
  const newestKnown = Math.max(newestListed, child.parentAt ?? 0)
  const ageSeconds = run.cursorLimit() - newestKnown
  const isRecent = ageSeconds >= 0 && ageSeconds < run.lookBackSeconds
  const isIncomplete = isRecent && newestListed < newestKnown
  if (isIncomplete && stream === 'messages') return 0
  const isUnchanged = cursor === child.cursor && child.checkedAt !== null && run.now() - child.checkedAt > minSecondMs
  if (!isUnchanged && !isLastSecondOver(ranges, lowWatermark)) return secondEndDelayMs
  const remainingMs = (run.lookBackSeconds - ageSeconds) * 1000
  // A visitor may be seen without any activity, so the intervals grow.
  if (isIncomplete) return Math.min(remainingMs, Math.max(secondEndDelayMs, (ageSeconds * 1000) / 2))
  return isRecent ? remainingMs : null
}

/**
 * The list's last second was over when it was read, because something later had been seen. A row that is added within
 * that second does not change the parent's times, which are whole seconds, so nothing would show it.
 */
function isLastSecondOver(ranges: PendingRanges, lowWatermark: EpochSeconds): boolean {
  return ranges.every(({ lo, hi }) => hi !== null || lo < lowWatermark - 1)
}

/** Only a full read can show that nothing is missing. */
function toCompleteness(
  isFullRead: boolean,
  incompleteReasons: ReadonlySet<string>,
): Pick<ChildReadResult, 'complete' | 'why'> {
  if (incompleteReasons.size > 0) return { complete: false, why: [...incompleteReasons].join('; ') }
  return { complete: isFullRead || 'as before' }
}
