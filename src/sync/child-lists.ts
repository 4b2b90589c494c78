/** One parent's list: its messages, its activity. */
import type { PageBatch } from '../api/list-reader.ts'
import type { ChildReadResult, PendingChild } from '../core/mirror.ts'
import { readPendingRanges, type TimeRange, writePendingRanges } from '../core/pagination/pending-ranges.ts'
import { describeRefusedRow } from '../core/row.ts'
import type { Ms, Seconds } from '../core/time.ts'
import type { ChildListStream } from '../streams/stream.ts'
import { type ChildReader, syncChildren } from './children.ts'
import type { SyncRun } from './deps.ts'
import { withLookBack } from './look-back.ts'
import { readPages } from './pages.ts'
import { isBeforeStartDate, newlyCoveredRanges, storeStartDate, streamRange } from './start-date.ts'

/** The lists of all parents that are due; of all parents at all, where the start date was moved back. */
export async function syncChildLists(run: SyncRun, stream: ChildListStream): Promise<void> {
  const isExtended = (await newlyCoveredRanges(run, stream.name)).length > 0
  if (isExtended) await run.mirror.requestFullReads(stream.name, 'all', run.now())
  await storeStartDate(run, stream.name)
  await syncChildren(run, stream.name, childListReader(run, stream))
}

/** Reads what is new under one parent, or all of it, page by page. */
function childListReader(run: SyncRun, stream: ChildListStream): ChildReader {
  return async (child, lane, latest) => {
    const start = streamRange(run, stream.name)
    const whole = child.whole || child.position === null
    const ranges = whole ? [start] : incrementalRanges(run, stream.name, child, start)
    const list = stream.list(run.projectId, child.parentId)
    const missing = new Set<string>()
    let alike = new Map<string, number>()
    for await (const read of readPages(run, { stream: stream.name, list, ranges, priority: lane })) {
      const { rows: all, refused } = stream.parseRows(read.items, child.parentId, {
        project: run.projectId,
        duplicateCounts: alike,
      })
      if (read.isLastOfAnswer) alike = new Map()
      const rows = all.filter((row) => !isBeforeStartDate(run, row))
      for (const { reason } of read.missedRanges) missing.add(reason)
      const end = read.isComplete
        ? { child: { ...toChildReadResult(run, stream, child, read, latest), ...toCompleteness(whole, missing) } }
        : {}
      const askedAt = read.answer?.askedAt ?? run.now()
      const news = {
        stream: stream.name,
        rows,
        refused: [...read.refused, ...refused],
        askedAt,
        learned: read.observations,
      }
      const { changed, refused: lost = [] } = await run.mirror.commit({ ...news, ...end })
      for (const row of lost) missing.add(describeRefusedRow(row))
      run.stats.recordPage(stream.name, rows.length, changed)
    }
  }
}

/**
 * What may be new. A parent that speaks of something earlier than was read last has news that is dated back: then from
 * there, and some minutes before.
 */
function incrementalRanges(
  run: SyncRun,
  stream: ChildListStream['name'],
  child: PendingChild,
  start: TimeRange,
): readonly TimeRange[] {
  const ranges = withLookBack(run, stream, readPendingRanges(child.position, start))
  if (child.parentAt === null) return ranges
  const from = Math.max(start.lo, child.parentAt - run.lookBack)
  return ranges.map((range) => (range.hi === null ? { ...range, lo: Math.min(range.lo, from) } : range))
}

function toChildReadResult(
  run: SyncRun,
  stream: ChildListStream,
  child: PendingChild,
  read: PageBatch,
  latest: Seconds,
) {
  const position = writePendingRanges(read.pendingRanges)
  const delayMs = rereadDelayMs(run, stream.name, child, read.pendingRanges, position, latest)
  const againAt = delayMs === null ? null : run.now() + delayMs
  return { stream: stream.name, parentId: child.parentId, wanted: child.wanted, position, againAt }
}

/** Milliseconds until a list is read again whose last second may not have been over, and that a second surely takes. */
const [soon, enough] = [5000, 2000] as const

/**
 * In how many milliseconds the list is read again although its parent shows nothing new: by the next pass where it lacks
 * what the parent speaks of, for activity after half as long again; soon where its last second may not have been over; once more
 * when what is late has come; null = not at all.
 */
function rereadDelayMs(
  run: SyncRun,
  stream: ChildListStream['name'],
  child: PendingChild,
  ranges: readonly TimeRange[],
  position: string,
  latest: Seconds,
): Ms | null {
  const seen = ranges.reduce((at, { lo, hi }) => (hi === null ? Math.max(at, lo) : at), 0)
  const newest = Math.max(seen, child.parentAt ?? 0)
  const age = run.cursorLimit() - newest
  const isRecent = age >= 0 && age < run.lookBack
  const isIncomplete = isRecent && seen < newest
  if (isIncomplete && stream === 'messages') return 0
  const isUnchanged = position === child.position && child.checkedAt !== null && run.now() - child.checkedAt > enough
  if (!isUnchanged && !isLastSecondOver(ranges, latest)) return soon
  const remainingMs = (run.lookBack - age) * 1000
  // A visitor may be seen without doing anything that is listed: a few readings have to do.
  if (isIncomplete) return Math.min(remainingMs, Math.max(soon, age * 500))
  return isRecent ? remainingMs : null
}

/**
 * Whether the list's last second was over when it was read: something later had been seen. What still comes within it
 * leaves the parent's times, of whole seconds, as they are: nothing would show that there is more.
 */
function isLastSecondOver(position: readonly TimeRange[], latest: Seconds): boolean {
  return position.every(({ lo, hi }) => hi !== null || lo < latest - 1)
}

/** What is missing, if anything; only a list that was read from its beginning can tell that nothing is. */
function toCompleteness(whole: boolean, missing: ReadonlySet<string>): Pick<ChildReadResult, 'complete' | 'why'> {
  if (missing.size > 0) return { complete: false, why: [...missing].join('; ') }
  return { complete: whole || 'as before' }
}
