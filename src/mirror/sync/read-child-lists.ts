/** Streams with one list per parent: messages and visitor activity. */

import { describeRejectedRow, type MirrorRow } from '../../../schema/row.ts'
import { type StreamName, streamSpecs } from '../../../schema/stream-specs.ts'
import { type EpochSeconds, type Ms, parseTime, rfc3339 } from '../../values/time.ts'
import type { ChildReadResult, PendingParent } from '../core/mirror.ts'
import { isLimited, isMirrored, streamRange } from '../core/mirrored-range.ts'
import type { PendingRanges, TimeRange } from '../core/pagination/list-cursor.ts'
import { formatPendingRanges, parsePendingRanges } from '../core/pagination/list-cursor.ts'
import type { ChildListStream } from '../core/stream-kinds.ts'
import { type ChildReader, syncChildren } from './children.ts'
import { commitPage, isHasMoreSet, readPages } from './pages.ts'
import type { SyncRun } from './run.ts'
import { newlyCoveredRanges, storeStartDate, withLookBack } from './start-date.ts'

/** Reads the lists of all pending parents, or of all parents if the start date was moved back. */
export async function syncChildLists(run: SyncRun, stream: ChildListStream): Promise<void> {
  const isExtended = (await newlyCoveredRanges(run, stream.name)).length > 0
  if (isExtended) await run.mirror.requestFullRereads(stream.name, 'all', run.now())
  await storeStartDate(run, stream.name)
  const inferredEnds: PendingParent[] = []
  const read = childListReader(run, stream, inferredEnds)
  await syncChildren(run, stream.name, read, () => disprovedEnds(run, stream, inferredEnds))
}

/** If the ends of so many lists had `hasMore` set, the service always sets it. */
const maxInferredEnds = 1000

/** The parents whose lists were taken for complete although `hasMore` was set, if a page without it has come since. */
function disprovedEnds(run: SyncRun, { name }: ChildListStream, inferredEnds: readonly PendingParent[]) {
  if (run.profiles.get(name)?.isHasMoreReliableIfShort !== true) return []
  return inferredEnds.map((parent) => ({ ...parent, rereadWhole: true }))
}

/** Reads the new rows of one parent, or all of its rows, and commits them page by page. */
function childListReader(run: SyncRun, stream: ChildListStream, inferredEnds: PendingParent[]): ChildReader {
  const [start, isPartial] = [streamRange(run, stream.name), isLimited(run, stream.name)]
  const { timeColumn } = streamSpecs[stream.name]
  return async (parent, priority, lowWatermark) => {
    const isFullRead = parent.rereadWhole || parent.cursor === null
    const ranges = isFullRead ? [start] : incrementalRanges(run, stream.name, parent, start)
    const readFrom = ranges.reduce((lo, range) => Math.min(lo, range.lo), Number.POSITIVE_INFINITY)
    const list = stream.list(run.projectId, parent.parentId)
    const incompleteReasons = new Set<string>()
    let newestRow = ''
    const resultAt = (pendingRanges: PendingRanges): ChildReadResult => {
      const cursor = formatPendingRanges(pendingRanges)
      const delayMs = rereadDelayMs(run, stream, parent, { ranges: pendingRanges, cursor, lowWatermark })
      const dueAt = delayMs === null ? null : run.now() + delayMs
      const { parentId, requestedVersion } = parent
      const newest = Math.max(newestOf(pendingRanges), parseTime(newestRow) ?? 0)
      const missing = stream.parentShowsNewest ? missingNewest(run, parent, newest) : null
      if (missing !== null) incompleteReasons.add(missing)
      const completeness = toCompleteness(isFullRead, incompleteReasons)
      // Only a full read can show later that the list has all of them.
      const position = missing === null ? cursor : null
      return { stream: stream.name, parentId, requestedVersion, cursor: position, dueAt, ...completeness }
    }
    let duplicateCounts = new Map<string, number>()
    for await (const batch of readPages(run, { stream: stream.name, list, ranges, priority })) {
      const parsed = stream.parseRows(batch.items, parent.parentId, { project: run.projectId, duplicateCounts })
      if (batch.isLastOfResponse) duplicateCounts = new Map()
      const listed = isPartial ? parsed.rows.filter((row) => isMirrored(run, stream.name, row)) : parsed.rows
      const rows = stream.isNumbered ? withoutCutSecond(listed, readFrom) : listed
      for (const { columns } of rows)
        if (String(columns[timeColumn] ?? '') > newestRow) newestRow = String(columns[timeColumn])
      for (const { reason } of batch.missedRanges) incompleteReasons.add(reason)
      const more = batch.isComplete ? { childRead: resultAt(batch.pendingRanges) } : {}
      const { rejectedRows = [] } = await commitPage(run, stream.name, batch, { ...parsed, rows }, more)
      for (const row of rejectedRows) incompleteReasons.add(describeRejectedRow(row))
      const isEndInferred = batch.isComplete && batch.missedRanges.length === 0 && isHasMoreSet(batch)
      if (isEndInferred && inferredEnds.length < maxInferredEnds) inferredEnds.push(parent)
    }
  }
}

/**
 * A page may reach further back than requested, and end within a second. Entries with one key are numbered by their place,
 * so those of that second would get other numbers than from the earlier run, which has read all of it.
 */
function withoutCutSecond(rows: readonly MirrorRow[], readFrom: EpochSeconds): readonly MirrorRow[] {
  const timeOf = ({ columns }: MirrorRow) => parseTime(columns.occurred_at) ?? readFrom
  const oldest = rows.reduce((at, row) => Math.min(at, timeOf(row)), readFrom)
  return oldest < readFrom ? rows.filter((row) => timeOf(row) !== oldest) : rows
}

/**
 * The ranges that may contain new rows. If the parent's time is before its cursor, the new rows are dated back: the read
 * then begins some minutes before that time.
 */
function incrementalRanges(run: SyncRun, stream: StreamName, parent: PendingParent, start: TimeRange): PendingRanges {
  const ranges = withLookBack(run, stream, parsePendingRanges(parent.cursor, start))
  if (parent.parentLastActiveAt === null) return ranges
  const from = Math.max(start.lo, parent.parentLastActiveAt - run.lookBackSeconds)
  return ranges.map((range) => (range.hi === null ? { ...range, lo: Math.min(range.lo, from) } : range))
}

/** A list whose last second may not have ended when it was read is read again after this delay. */
const secondEndDelayMs = 5000
/** After this time a second has surely ended. */
const secondSurelyOverMs = 2000

/** What a read of a list showed. `cursor`: the text of `ranges`. */
type ListedRows = { readonly ranges: PendingRanges; readonly cursor: string; readonly lowWatermark: EpochSeconds }

/** Why the list cannot be complete: its parent shows a newer row; null = it does not. Times beyond the clocks prove nothing. */
function missingNewest(run: SyncRun, { parentLastActiveAt: shownAt }: PendingParent, newest: EpochSeconds) {
  if (shownAt === null || shownAt > run.cursorLimit() || newest >= shownAt) return null
  return `the list ends before ${rfc3339(shownAt)}, the time of the last message that the conversation shows`
}

/** Beyond this time, a list's rows have not been read. */
function newestOf(ranges: PendingRanges): EpochSeconds {
  return ranges.reduce((at, { lo, hi }) => (hi === null ? Math.max(at, lo) : at), 0)
}

/** The delay until the list is read again although its parent shows nothing new: the first rule decides; null = never. */
function rereadDelayMs(run: SyncRun, stream: ChildListStream, parent: PendingParent, listed: ListedRows): Ms | null {
  const newestListed = newestOf(listed.ranges)
  const newestKnown = Math.max(newestListed, parent.parentLastActiveAt ?? 0)
  const ageMs = (run.cursorLimit() - newestKnown) * 1000
  const remainingMs = run.lookBackSeconds * 1000 - ageMs
  const isRecent = ageMs >= 0 && remainingMs > 0
  const isBehindParent = isRecent && newestListed < newestKnown
  // The parent shows a newer row than its list.
  if (isBehindParent && stream.parentShowsNewest) return 0
  if (mayLastSecondGrow(run, parent, listed)) return secondEndDelayMs
  // A visitor may be seen without any activity, so the intervals grow: half the time since it was seen.
  if (isBehindParent) return Math.min(remainingMs, Math.max(secondEndDelayMs, ageMs / 2))
  // A row may still arrive late: once, at the end of the lookback window.
  return isRecent ? remainingMs : null
}

/**
 * The list's last second may not have ended when it was read: nothing later had been seen. A row that is added within
 * that second does not change the parent's times, which are whole seconds, so nothing would show it.
 */
function mayLastSecondGrow(run: SyncRun, parent: PendingParent, { ranges, cursor, lowWatermark }: ListedRows): boolean {
  const { checkedAt } = parent
  const isUnchanged = cursor === parent.cursor && checkedAt !== null && run.now() - checkedAt > secondSurelyOverMs
  return !isUnchanged && ranges.some(({ lo, hi }) => hi === null && lo >= lowWatermark - 1)
}

/** Only a full read can show that nothing is missing. */
function toCompleteness(isFullRead: boolean, incompleteReasons: ReadonlySet<string>) {
  if (incompleteReasons.size > 0) return { completeness: 'incomplete' as const, why: [...incompleteReasons].join('; ') }
  return { completeness: isFullRead ? ('complete' as const) : ('unchanged' as const) }
}
