/** Streams with one list per parent: messages and visitor activity. */

import { describeRejectedRow, type MirrorRow } from '../../../schema/row.ts'
import { type StreamName, streamSpecs } from '../../../schema/stream-specs.ts'
import { type EpochSeconds, type Ms, parseTime } from '../../values/time.ts'
import { capReason, endReason, type ListLength, showsBeginning } from '../core/message-list-cap.ts'
import type { ChildReadResult, ListedRows, PendingParent } from '../core/mirror.ts'
import { isLimited, isMirrored, streamRange } from '../core/mirrored-range.ts'
import {
  allTime,
  formatPendingRanges,
  type PendingRanges,
  parsePendingRanges,
  type TimeRange,
} from '../core/pagination/list-cursor.ts'
import { gapReasons } from '../core/pagination/reading-state.ts'
import type { ChildListStream } from '../core/stream-kinds.ts'
import { childKeyOf } from '../sql/encode-rows.ts'
import { type ChildReader, readPending, syncChildren } from './children.ts'
import {
  isReachable,
  limitBehaviour,
  markLimitedLists,
  rereadLimitedLists,
  uncomparedCursor,
} from './message-list-cap.ts'
import { commitPage, commitWithoutRows, isHasMoreSet, type PageBatch, readPages } from './pages.ts'
import type { SyncRun } from './run.ts'
import { newlyCoveredRanges, storeStartDate, withLookBack } from './start-date.ts'

/** Reads the lists of all pending parents, or of all parents if the start date was moved back. */
export async function syncChildLists(run: SyncRun, stream: ChildListStream): Promise<void> {
  const isExtended = (await newlyCoveredRanges(run, stream.name)).length > 0
  if (isExtended) await run.mirror.requestFullRereads(stream.name, 'all', run.now())
  await storeStartDate(run, stream.name)
  const doubtful: DoubtfulLists = { inferredEnds: [], toReread: [], longest: 0 }
  const read = childListReader(run, stream, doubtful)
  const known = run.behaviours.get(limitBehaviour) ?? null
  await syncChildren(run, stream.name, read, async () => {
    if (stream.parentShowsNewest) await markLimitedLists(run, doubtful.longest)
    const lists = [...disprovedEnds(run, stream, doubtful), ...doubtful.toReread]
    const again = new Map(lists.map((parent) => [parent.parentId, parent]))
    return [...again.values()].map((parent) => ({ ...parent, rereadWhole: true }))
  })
  if (stream.parentShowsNewest && (await rereadLimitedLists(run, known)))
    await readPending(run, stream.name, read)
}

/** `inferredEnds`: taken for complete although `hasMore` was set. */
type DoubtfulLists = {
  readonly inferredEnds: PendingParent[]
  readonly toReread: PendingParent[]
  /** The rows of the longest list of this run that was read whole. */
  longest: number
}

/** If the ends of so many lists had `hasMore` set, the service always sets it. */
const maxInferredEnds = 1000

/**
 * Lists that were taken for complete although `hasMore` was set; a page without it has come since.
 */
function disprovedEnds(run: SyncRun, { name }: ChildListStream, { inferredEnds }: DoubtfulLists) {
  return run.profiles.get(name)?.isHasMoreReliableIfShort === true ? inferredEnds : []
}

/** Reads the new rows of one parent, or all of its rows, and commits them page by page. */
function childListReader(
  run: SyncRun,
  stream: ChildListStream,
  doubtful: DoubtfulLists,
): ChildReader {
  const start = streamRange(run, stream.name)
  const isPartial = isLimited(run, stream.name)
  const { timeColumn } = streamSpecs[stream.name]
  return async (parent, priority, lowWatermark) => {
    const isFullRead = parent.rereadWhole || parent.cursor === null
    const ranges = isFullRead ? [start] : incrementalRanges(run, stream.name, parent, start)
    const readFrom = ranges.reduce((lo, range) => Math.min(lo, range.lo), Number.POSITIVE_INFINITY)
    const list = stream.list(run.projectId, parent.parentId)
    const incompleteReasons = new Set<string>()
    const since = run.now()
    /** Of the rows that this reading has shown. */
    const keys = new Set<string>()
    let newestRow = ''
    let oldestRow: string | null = null
    let hasShownStored = false
    const mayJoin = stream.parentShowsNewest && !isFullRead && readFrom > start.lo
    const resultAt = (pendingRanges: PendingRanges, added: number) => {
      const cursor = formatPendingRanges(pendingRanges)
      const delayMs = rereadDelayMs(run, stream, parent, {
        ranges: pendingRanges,
        cursor,
        lowWatermark,
      })
      const dueAt = delayMs === null ? null : run.now() + delayMs
      const { parentId, requestedVersion } = parent
      const newest = Math.max(newestOf(pendingRanges), parseTime(newestRow) ?? 0)
      const missing = stream.parentShowsNewest ? missingNewest(run, parent, newest) : null
      if (missing !== null) incompleteReasons.add(missing)
      const oldest = parseTime(oldestRow) ?? null
      const reasons = explainEnd(run, stream, incompleteReasons, {
        rows: keys.size,
        began: parent.parentBeganAt,
        oldest,
      })
      const completeness = toCompleteness(isFullRead, reasons)
      // Only a full read can show later that the list has all of them.
      const position = missing === null ? cursor : null
      const listedRows = isFullRead ? keys.size : null
      const childRead: ChildReadResult = {
        stream: stream.name,
        parentId,
        requestedVersion,
        cursor: position,
        dueAt,
        listedRows,
        toJoin: mayJoin && !hasShownStored && keys.size > 0 ? added : null,
        ...completeness,
      }
      const isConfirmed = run.mode === 'full'
      const listed: ListedRows = {
        parentId,
        keys,
        since,
        from: start.lo,
        isSecond: false,
        isConfirmed,
      }
      // Of a list that was never read to its end, nothing is stored that it could lack.
      const isListed = parent.readVersion > 0 && completeness.completeness === 'complete'
      const isUncompared = isFullRead && stream.parentShowsNewest
      return {
        childRead,
        ...(isListed ? { listed } : {}),
        ...(isUncompared ? { cursors: { [uncomparedCursor]: 'some' } } : {}),
      }
    }
    let duplicateCounts = new Map<string, number>()
    for await (const batch of readPages(run, { stream: stream.name, list, ranges, priority })) {
      const parsed = stream.parseRows(batch.items, parent.parentId, {
        project: run.projectId,
        duplicateCounts,
      })
      if (batch.isLastOfResponse) duplicateCounts = new Map()
      const listed = isPartial
        ? parsed.rows.filter((row) => isMirrored(run, stream.name, row))
        : parsed.rows
      const rows = stream.isNumbered ? withoutCutSecond(listed, readFrom) : listed
      const keyOf = (row: MirrorRow) => childKeyOf(stream.name, row)
      const added = rows.filter((row) => !keys.has(keyOf(row))).length
      for (const row of parsed.rows) keys.add(keyOf(row))
      for (const { columns } of rows) {
        const at = String(columns[timeColumn] ?? '')
        if (at > newestRow) newestRow = at
        if (at !== '' && (oldestRow === null || at < oldestRow)) oldestRow = at
      }
      for (const { reason } of batch.missedRanges) incompleteReasons.add(reason)
      const more = batch.isComplete ? resultAt(batch.pendingRanges, added) : {}
      const result = await commitPage(run, stream.name, batch, { ...parsed, rows }, more)
      const { rejectedRows = [], unlisted } = result
      if (result.changed < added) hasShownStored = true
      if (batch.isComplete && isFullRead) doubtful.longest = Math.max(doubtful.longest, keys.size)
      for (const row of rejectedRows) incompleteReasons.add(describeRejectedRow(row))
      if (unlisted?.isToReread) doubtful.toReread.push(parent)
      if (unlisted?.doubt) run.notices.add(unlisted.doubt)
      // Further back, only rows that appeared late could be new.
      if (!isFullRead && hasShownStored && isPastKnown(batch, parent) && stream.parentShowsNewest) {
        const left = batch.pendingRanges.filter(({ hi }) => hi === null)
        await commitWithoutRows(run, stream.name, resultAt(left, 0))
        return
      }
      // What follows a page that reaches further back than was asked for is older.
      const isOlderLeft = rows.some(
        ({ columns }) => (parseTime(columns[timeColumn]) ?? readFrom) < readFrom - 1,
      )
      const isInferred = batch.profile.isHasMoreReliableIfShort === false && isHasMoreSet(batch)
      const isEndInferred =
        isInferred && batch.isComplete && batch.missedRanges.length === 0 && !isOlderLeft
      if (isEndInferred && doubtful.inferredEnds.length < maxInferredEnds)
        doubtful.inferredEnds.push(parent)
    }
  }
}

/**
 * All that is left was read before, by a completed read: a reconcile reads it again. In a busy
 * conversation, thousands of rows may lie within the look-back.
 */
function isPastKnown(
  { pendingRanges, isComplete }: PageBatch,
  { cursor, parentLastActiveAt }: PendingParent,
): boolean {
  const open = parsePendingRanges(cursor, allTime).find(({ hi }) => hi === null)
  const next = pendingRanges.filter(({ hi }) => hi === null)
  const left = pendingRanges.flatMap(({ hi }) => hi ?? [])
  const isOpenEndRead = next.length === 1 && next.every(({ seenLo }) => seenLo !== true)
  if (open === undefined || isComplete || !isOpenEndRead || left.length === 0) return false
  const known = Math.min(open.lo, parentLastActiveAt ?? open.lo)
  return left.every((hi) => hi < known)
}

/**
 * A page may reach further back than requested, and end within a second. Entries with one key are
 * numbered by their place, so those of that second would get other numbers than before.
 */
function withoutCutSecond(
  rows: readonly MirrorRow[],
  readFrom: EpochSeconds,
): readonly MirrorRow[] {
  const timeOf = ({ columns }: MirrorRow) => parseTime(columns.occurred_at) ?? readFrom
  const oldest = rows.reduce((at, row) => Math.min(at, timeOf(row)), readFrom)
  return oldest < readFrom ? rows.filter((row) => timeOf(row) !== oldest) : rows
}

/** If the parent's time is before its cursor, new rows are dated back, to about that time. */
function incrementalRanges(
  run: SyncRun,
  stream: StreamName,
  parent: PendingParent,
  start: TimeRange,
): PendingRanges {
  const ranges = withLookBack(run, stream, parsePendingRanges(parent.cursor, start))
  if (parent.parentLastActiveAt === null) return ranges
  const from = Math.max(start.lo, parent.parentLastActiveAt - run.lookBackSeconds)
  return ranges.map((range) =>
    range.hi === null ? { ...range, lo: Math.min(range.lo, from) } : range,
  )
}

/** A list whose last second may not have ended when it was read is read again after this delay. */
const secondEndDelayMs = 5000
/** After this time a second has surely ended. */
const secondSurelyOverMs = 2000

/** What a read of a list showed. `cursor`: the text of `ranges`. */
type ListReading = {
  readonly ranges: PendingRanges
  readonly cursor: string
  readonly lowWatermark: EpochSeconds
}

/** Why it is incomplete: its parent shows a newer row. Times beyond the clocks prove nothing. */
function missingNewest(
  run: SyncRun,
  { parentLastActiveAt: shownAt }: PendingParent,
  newest: EpochSeconds,
) {
  if (shownAt === null || shownAt > run.cursorLimit() || newest >= shownAt) return null
  return endReason(shownAt)
}

/** Beyond this time, a list's rows have not been read. */
function newestOf(ranges: PendingRanges): EpochSeconds {
  return ranges.reduce((at, { lo, hi }) => (hi === null ? Math.max(at, lo) : at), 0)
}

/** When the list is read again although its parent shows nothing new; null = never. */
function rereadDelayMs(
  run: SyncRun,
  stream: ChildListStream,
  parent: PendingParent,
  listed: ListReading,
): Ms | null {
  const newestListed = newestOf(listed.ranges)
  const newestKnown = Math.max(newestListed, parent.parentLastActiveAt ?? 0)
  const ageMs = (run.cursorLimit() - newestKnown) * 1000
  const remainingMs = run.lookBackSeconds * 1000 - ageMs
  const isRecent = ageMs >= 0 && remainingMs > 0
  const isBehindParent = isRecent && newestListed < newestKnown
  // The parent shows a newer row than its list.
  if (isBehindParent && stream.parentShowsNewest) return 0
  if (mayLastSecondGrow(run, parent, listed)) return secondEndDelayMs
  // A visitor may be seen without any activity, so the intervals grow with the time since.
  if (isBehindParent) return Math.min(remainingMs, Math.max(secondEndDelayMs, ageMs / 2))
  // A row may still arrive late: once, at the end of the lookback window.
  return isRecent ? remainingMs : null
}

/**
 * Nothing later than its last second had been seen, and a row that is added within that does not
 * change the parent's times, which are whole seconds.
 */
function mayLastSecondGrow(
  run: SyncRun,
  parent: PendingParent,
  { ranges, cursor, lowWatermark }: ListReading,
): boolean {
  const { checkedAt } = parent
  const isUnchanged =
    cursor === parent.cursor && checkedAt !== null && run.now() - checkedAt > secondSurelyOverMs
  return !isUnchanged && ranges.some(({ lo, hi }) => hi === null && lo >= lowWatermark - 1)
}

/** Why rows are missing; a list that shows its beginning is whole in any case. */
function explainEnd(
  run: SyncRun,
  { name }: ChildListStream,
  reasons: ReadonlySet<string>,
  list: Pick<ListLength, 'rows' | 'began' | 'oldest'>,
): ReadonlySet<string> {
  const profile = run.profiles.get(name)
  if (profile === undefined) return reasons
  const { listedAtMost, setsHasMore } = profile
  const isOfLimit = listedAtMost === list.rows && list.rows > 0
  const isUnreachable = reasons.has(gapReasons.unreachable)
  if (!isOfLimit && (setsHasMore || !isUnreachable)) return reasons
  const others = [...reasons].filter((reason) => reason !== gapReasons.unreachable)
  if (showsBeginning(list)) return new Set(others)
  const isCut = isOfLimit && (isUnreachable || !isReachable(profile))
  return isCut ? new Set([...others, capReason(list.rows)]) : reasons
}

/** Only a full read can show that nothing is missing. */
function toCompleteness(isFullRead: boolean, incompleteReasons: ReadonlySet<string>) {
  if (incompleteReasons.size > 0)
    return { completeness: 'incomplete' as const, why: [...incompleteReasons].join('; ') }
  return { completeness: isFullRead ? ('complete' as const) : ('unchanged' as const) }
}
