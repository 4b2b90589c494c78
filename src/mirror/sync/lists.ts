/** Syncs the lists of a project: the rows since the cursor, or all of them. */

import type { Json } from '../../values/json.ts'
import { daySeconds, type EpochMs, type Ms } from '../../values/time.ts'
import { type MirrorCommit, untimedGap } from '../core/mirror.ts'
import { streamRange } from '../core/mirrored-range.ts'
import {
  formatPendingRanges,
  isLessLeft,
  isReadToEnd,
  type PendingRanges,
  parsePendingRanges,
} from '../core/pagination/list-cursor.ts'
import {
  decodeProfile,
  documentedPageSizes,
  type ListEndpoint,
} from '../core/pagination/paging-profile.ts'
import { gapReasons } from '../core/pagination/reading-state.ts'
import type { ListStream } from '../core/stream-kinds.ts'
import { throwIfSliceOver } from './concurrency.ts'
import {
  findHiddenConversations,
  listParts,
  observeHandled,
  partSuffixes,
  readOpenConversations,
  retryHidden,
  retryOpenFilter,
} from './conversation-lists.ts'
import {
  commitPage,
  commitWithoutRows,
  type ListScan,
  type PageBatch,
  readPages,
  toGaps,
} from './pages.ts'
import { needsBothBounds, recheckRows, resolveUnseenRows } from './rows-by-id.ts'
import { priorityFor, type SyncRun } from './run.ts'
import { newlyCoveredRanges, storeStartDate, withLookBack } from './start-date.ts'

/** The newest calls, which each run reads again: late ones appear among them. They fit a page. */
const maxCallRereads = 150

/** After that, a read of a whole list begins anew: the list may have changed since. */
const continuedWithinMs: Ms = 7 * daySeconds * 1000

/** The key of the gap that is open while the service refuses the list, whatever is asked for. */
export const refusedListGapKey = 'refused'

export async function syncList(run: SyncRun, stream: ListStream): Promise<void> {
  await readListStream(run, stream)
  const gaps = await run.mirror.listOpenGaps(stream.name)
  if (gaps.some(({ dedupKey }) => dedupKey === refusedListGapKey))
    await commitWithoutRows(run, stream.name, { resolvedGapKeys: [refusedListGapKey] })
}

async function readListStream(run: SyncRun, stream: ListStream): Promise<void> {
  await extendToStartDate(run, stream)
  if (run.mode !== 'incremental') return readWholeList(run, stream)
  const isFirst = (await run.mirror.readCursor(stream.name)) === null
  await readChanges(run, stream)
  if (isFirst) noticeRequiredBounds(run, stream)
  else noticeUndated(run, stream)
  if (stream.name !== 'conversations') return
  // What the list left out is read in this sync, too.
  if (await findHiddenConversations(run, stream, { seenRowsKey: null, isFirst }))
    await readChanges(run, stream)
  if (!isFirst) await readOpenConversations(run, stream)
  await recheckRows(run, stream)
}

function noticeRequiredBounds(run: SyncRun, { name }: ListStream): void {
  if (!needsBothBounds(run, name)) return
  run.notices.add(
    `The service lists ${name} only between two times, so if any have no time, they are missing.`,
  )
}

const undatedBehaviour = (name: string) => `${name}.undated`

/** A row lacks a time of the order, so a request with a bound may leave it out. */
function observeUndated(
  run: SyncRun,
  list: ListEndpoint,
  { items, profile }: Pick<PageBatch, 'items' | 'profile'>,
) {
  const name = undatedBehaviour(list.name)
  const fields = profile.order?.fields ?? []
  if (fields.length === 0 || run.behaviours.has(name)) return []
  const isUndated = (item: Json) => {
    const times = list.times(item)
    return fields.some((field) => !times.has(field))
  }
  const undated = items.find(isUndated)
  if (undated === undefined) return []
  // No id: an erasure would have to find it.
  return [{ name, value: 'listed', evidence: `a listed row has no ${fields.join(' or ')}` }]
}

/** An incremental sync asks with a bound. */
function noticeUndated(run: SyncRun, { name }: ListStream): void {
  if (!run.behaviours.has(undatedBehaviour(name))) return
  const hidden =
    `The service lists ${name} that lack the time by which the list is ` +
    'ordered. New ones of them'
  run.notices.add(`${hidden} are found by a reconcile only (\`deskmirror sync --mode reconcile\`).`)
}

/** What is before the start date of earlier runs is pending from now on, if it was moved back. */
async function extendToStartDate(run: SyncRun, stream: ListStream): Promise<void> {
  const added = await newlyCoveredRanges(run, stream.name)
  for (const cursorName of added.length === 0 ? [] : [stream.name, `${stream.name}:whole`]) {
    const stored = await run.mirror.readCursor(cursorName)
    if (stored === null || stored === readToEnd) continue
    const known = parsePendingRanges(stored, streamRange(run, stream.name))
    await run.mirror.writeCursor(cursorName, formatPendingRanges([...known, ...added]))
  }
  await storeStartDate(run, stream.name)
}

/** Reads what moved since the cursor of the list, or of each of its parts. */
async function readChanges(run: SyncRun, stream: ListStream): Promise<void> {
  for (const { list, suffix } of listParts(run, stream)) {
    const cursorName = `${stream.name}${suffix}`
    const stored = await run.mirror.readCursor(cursorName)
    const start = streamRange(run, stream.name)
    const known = parsePendingRanges(stored, start)
    const behind = stored === null ? known : withLookBack(run, stream.name, known)
    const isRelisted =
      stored !== null && isReadToEnd(known) && (await isRelistedWhole(run, stream, list))
    const before = isRelisted ? [start] : known
    const wider = isRelisted ? before : behind
    const ranges = stream.name === 'calls' ? await withLateArrivingCalls(run, wider) : wider
    const scan = { stream: stream.name, list, ranges, priority: priorityFor(run, stored === null) }
    await storeRanges(run, stream, scan, before, (cursor) => ({
      cursors: { [cursorName]: cursor },
    }))
  }
}

/** How many rows every sync lists again if their order does not show changes, or may not. */
const maxRelisted = { ifHidden: 2000, ifUnknown: documentedPageSizes.most }

/**
 * A list in order of creation does not show a new message in an older conversation. A short one is
 * then read whole; a longer one is a gap until the next reconcile.
 */
async function isRelistedWhole(
  run: SyncRun,
  { name }: ListStream,
  list: ListEndpoint,
): Promise<boolean> {
  if (name === 'calls') return false
  const fields = decodeProfile(list, run.behaviours).order?.fields ?? []
  if (!fields.some(isOfCreation)) return false
  const isHidden = fields.every(isOfCreation)
  const { living } = await run.mirror.countUnseenRows(name, '', 'all')
  if (living <= (isHidden ? maxRelisted.ifHidden : maxRelisted.ifUnknown)) return true
  if (!isHidden) return false
  const hidden = name === 'conversations' ? 'new messages in' : 'changes and activity of'
  const reason =
    `the service lists ${name} by creation time, so ${hidden} older ones ` +
    'are found by a reconcile only'
  await commitWithoutRows(run, name, { gaps: [untimedGap(name, reason)] })
  run.notices.add(`In an incremental sync, ${reason} (\`deskmirror sync --mode reconcile\`).`)
  return false
}

/** The names of a visitor's fields are not documented. */
function isOfCreation(field: string): boolean {
  return /(^|\.)(created|first)/i.test(field)
}

/**
 * Reads the whole list regardless of the cursor. An interrupted read continues in the next run. The
 * end is the new cursor, the gaps that it did not find again are closed, and rows that it did not
 * show are requested by their ids.
 */
async function readWholeList(run: SyncRun, stream: ListStream): Promise<void> {
  const seenRowsKey = `${stream.name}:whole`
  const since = await wholeListStart(run, stream)
  for (const { list, suffix } of listParts(run, stream))
    await readWholePart(run, stream, list, suffix)
  noticeRequiredBounds(run, stream)
  if (stream.name === 'conversations') {
    // Found only now: the parts are read as well, and the list is then known to be shown in parts.
    if (await findHiddenConversations(run, stream, { seenRowsKey, isFirst: false }))
      for (const { list, suffix } of listParts(run, stream))
        await readWholePart(run, stream, list, suffix)
    await retryOpenFilter(run)
  }
  await run.mirror.resolveGaps(stream.name, since)
  // A list that may leave out anything says nothing about the rows that it did not show.
  const isAnyMissing = (await run.mirror.listOpenGaps(stream.name)).some(
    ({ from, to, reason }) =>
      from === null &&
      to === null &&
      (reason === gapReasons.unordered || reason === gapReasons.otherBound),
  )
  if (!isAnyMissing) await resolveUnseenRows(run, stream, seenRowsKey)
  await forgetWholeRead(run, seenRowsKey)
}

async function forgetWholeRead(run: SyncRun, seenRowsKey: string): Promise<void> {
  for (const suffix of ['', ...partSuffixes, ':since'])
    await run.mirror.writeCursor(`${seenRowsKey}${suffix}`, null)
  await run.mirror.forgetSeenRows(seenRowsKey)
}

/** Reads a part of the list that this chain of runs has not read to its end yet. */
async function readWholePart(
  run: SyncRun,
  stream: ListStream,
  list: ListEndpoint,
  suffix: string,
): Promise<void> {
  const cursorName = `${stream.name}:whole${suffix}`
  const stored = await run.mirror.readCursor(cursorName)
  if (stored === readToEnd) return
  const ranges = parsePendingRanges(stored, streamRange(run, stream.name))
  const scan = {
    stream: stream.name,
    list,
    ranges,
    priority: priorityFor(run, false),
    isContinued: stored !== null,
  }
  const endCursors = (cursor: string) => ({
    [cursorName]: readToEnd,
    [`${stream.name}${suffix}`]: cursor,
  })
  await storeRanges(run, stream, scan, ranges, (cursor, isComplete) => ({
    cursors: isComplete ? endCursors(cursor) : { [cursorName]: cursor },
    seenRowsKey: `${stream.name}:whole`,
    isAuthoritative: true,
  }))
}

const readToEnd = 'read'

/** When this read of the whole list began. Begins a new one unless the last one was interrupted. */
async function wholeListStart(run: SyncRun, stream: ListStream): Promise<EpochMs> {
  const seenRowsKey = `${stream.name}:whole`
  const sinceCursorName = `${seenRowsKey}:since`
  const startedAt = run.mode === 'full' ? null : await run.mirror.readCursor(sinceCursorName)
  const age = run.now() - Number(startedAt)
  // One from the future began by a wrong clock: its gaps would seem older than it.
  if (startedAt !== null && age >= 0 && age <= continuedWithinMs) return Number(startedAt)
  await forgetWholeRead(run, seenRowsKey)
  await retryHidden(run, stream)
  const since = run.now()
  await run.mirror.writeCursor(sinceCursorName, String(since))
  return since
}

/**
 * `before`: what was left. A time slice ends once less is left, or the next ones would read the
 * same again. `atCursor`: stored with the rows once this cursor is reached.
 */
async function storeRanges(
  run: SyncRun,
  stream: ListStream,
  scan: ListScan,
  before: PendingRanges,
  atCursor: (cursor: string, isComplete: boolean) => Partial<MirrorCommit>,
): Promise<void> {
  for await (const batch of readPages(run, scan)) {
    const parsed = stream.parseRows(batch.items, run.projectId)
    await commitPage(run, stream.name, batch, parsed, {
      observations: [
        ...observeHandled(run, scan.list, parsed.rows),
        ...observeUndated(run, scan.list, batch),
      ],
      gaps: toGaps(stream.name, batch),
      ...atCursor(formatPendingRanges(batch.pendingRanges), batch.isComplete),
    })
    if (!batch.isComplete && isLessLeft(before, batch.pendingRanges)) throwIfSliceOver(run)
  }
}

/** Calls can appear late: a day earlier, if that needs no other page. */
async function withLateArrivingCalls(run: SyncRun, ranges: PendingRanges): Promise<PendingRanges> {
  const pageStart = await run.mirror.nthNewestCallTime(maxCallRereads, run.cursorLimit())
  return ranges.map((range) => {
    if (range.hi !== null) return range
    const lo = Math.max(range.lo - daySeconds, pageStart ?? 0, streamRange(run, 'calls').lo)
    return lo < range.lo ? { lo, hi: null } : range
  })
}
