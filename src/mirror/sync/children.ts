/**
 * Reads messages, activity and recordings. Pending children are a query over the warehouse, so a
 * parent that failed is retried later and does not block the others.
 */
import { type ChildStreamName, streamSpecs } from '../../../schema/stream-specs.ts'
import {
  ApiError,
  isNotFound,
  isRefused,
  nullIfNotFound,
  unreadableRowReason,
} from '../../service/core/api-failure.ts'
import type { Priority } from '../../service/core/api-request.ts'
import { asJsonObject, type JsonObject } from '../../values/json.ts'
import type { Kept } from '../../values/private-columns.ts'
import {
  clockToleranceSeconds,
  type EpochSeconds,
  type Ms,
  parseTime,
  rfc3339,
  type Seconds,
} from '../../values/time.ts'
import { createTurns } from '../../values/turns.ts'
import { massDeletionGapKey, type PendingParent } from '../core/mirror.ts'
import { allTime, parsePendingRanges } from '../core/pagination/list-cursor.ts'
import type { ChildObjectStream } from '../core/stream-kinds.ts'
import { listStreams } from '../core/streams.ts'
import { mapConcurrently, throwIfSliceOver } from './concurrency.ts'
import { commitWithoutRows } from './pages.ts'
import { markRowDeleted } from './rows-by-id.ts'
import type { SyncRun } from './run.ts'

/** `lowWatermark`: no row that is added from now on is dated before this time. */
export type ChildReader = (
  parent: PendingParent,
  priority: Priority,
  lowWatermark: EpochSeconds,
) => Promise<void>

/** Conversations with future-dated messages, least recently read first. */
const maxFutureDatedRereads = 200

/** If the service refused so many lists and let none be read, it refuses all of them. */
const maxRefused = 100

const batchSize = 400
const concurrency = 16

/** Parents whose children a reconcile rereads: nightly ones cover all within a week. */
const rereadShare = { atLeast: 1000, oneIn: 7 }

/** Reads all pending children, and once more those that failed, or are `doubtful`. */
export async function syncChildren(
  run: SyncRun,
  stream: ChildStreamName,
  read: ChildReader,
  doubtful: () => Promise<readonly PendingParent[]> = async () => [],
): Promise<void> {
  await run.mirror.correctFutureDueTimes(stream, run.now())
  if (run.mode !== 'incremental') {
    // Whether too many rows are missing is asked anew.
    await commitWithoutRows(run, stream, { resolvedGapKeys: [massDeletionGapKey] })
    await run.mirror.requestFullRereads(
      stream,
      run.mode === 'full' ? 'all' : rereadShare,
      run.now(),
    )
  } else if (stream === 'messages') {
    await run.mirror.markFutureDatedPending(
      run.cursorLimit() + clockToleranceSeconds,
      maxFutureDatedRereads,
      run.now(),
    )
  }
  await readPending(run, stream, read, doubtful)
}

/** The same for what is pending now, without asking for more to be read again. */
export async function readPending(
  run: SyncRun,
  stream: ChildStreamName,
  read: ChildReader,
  doubtful: () => Promise<readonly PendingParent[]> = async () => [],
): Promise<void> {
  run.stats.setRemaining(stream, await run.mirror.countPendingParents(stream, run.now()))
  const failed: PendingParent[] = []
  const tally: Tally = { read: 0, refused: [], isAnyNew: false }
  // What becomes pending later belongs to the next run: no incomplete list is reread at once.
  const now = run.now()
  // None is reread twice in one run, even if a clock is set back. A first read does not count.
  const rereadParents = new Set<string>()
  for (let isFirst = true; ; isFirst = false) {
    if (!isFirst) throwIfSliceOver(run)
    // The first parent alone: what it shows about the service saves requests for the others.
    const all = await run.mirror.readPendingParents(stream, now, isFirst ? 1 : batchSize)
    const pending = all.filter(({ parentId }) => !rereadParents.has(parentId))
    if (pending.length === 0) break
    for (const { parentId, readVersion } of pending)
      if (readVersion > 0) rereadParents.add(parentId)
    failed.push(...(await readAll(run, stream, pending, read, tally)))
    if (isRefusedWhole(tally, maxRefused)) break
  }
  const { length: unread } = await readAll(
    run,
    stream,
    [...(await doubtful()), ...failed],
    read,
    tally,
  )
  if (unread > 0)
    run.stats.fail(stream, `${unread} of its lists could not be read; they will be retried soon`)
  const [why] = tally.refused
  if (isRefusedWhole(tally, 2))
    run.stats.fail(
      stream,
      `the service refused all ${tally.refused.length} lists that were requested: ${why}`,
    )
}

/**
 * `refused`: why, for each list that the service does not let be read; `isAnyNew`: one for the first
 * time.
 */
type Tally = { read: number; readonly refused: string[]; isAnyNew: boolean }

/** Gaps say of lists that were refused before what is missing, and readable ones may be behind. */
function isRefusedWhole({ read, refused, isAnyNew }: Tally, min: number): boolean {
  return read === 0 && isAnyNew && refused.length >= min
}

/** Reads the children of these parents. Returns those that failed and are worth a retry. */
async function readAll(
  run: SyncRun,
  stream: ChildStreamName,
  pending: readonly PendingParent[],
  read: ChildReader,
  tally: Tally,
) {
  const lowWatermark = await readLowWatermark(run)
  const attempt = async (parent: PendingParent) => {
    // Each slice reads some, however long the lists before took, so that a sequence of them ends.
    if (tally.read > 0) throwIfSliceOver(run)
    try {
      await read(parent, priorityOf(parent), lowWatermark)
      tally.read += 1
      return []
    } catch (error) {
      await handleChildFailure(run, stream, parent, error)
      const why = unreadableRowReason(error)
      if (why !== null && !isNotFound(error)) {
        tally.refused.push(why)
        tally.isAnyNew ||= parent.attempts === 0
      }
      return isRefused(error) ? [] : [parent]
    }
  }
  return (await mapConcurrently(pending, concurrency, attempt)).flat()
}

/**
 * The latest time in anything read so far, within the clocks; 0 = unknown. No row that is added
 * later is dated before it. Activity does not count: its times may come from browsers.
 */
async function readLowWatermark({ mirror, cursorLimit }: SyncRun): Promise<EpochSeconds> {
  const cursors = await Promise.all(['conversations', 'visitors'].map(mirror.readCursor))
  const openRanges = cursors
    .flatMap((cursor) => parsePendingRanges(cursor, allTime))
    .filter(({ hi }) => hi === null)
  const latestSeen = Math.max(
    0,
    (await mirror.latestMessageTime()) ?? 0,
    ...openRanges.map(({ lo }) => lo),
  )
  return Math.min(latestSeen, cursorLimit())
}

function priorityOf({ readVersion, rereadWhole }: PendingParent): Priority {
  if (readVersion === 0) return 'backfill'
  return rereadWhole ? 'reconcile' : 'fresh'
}

/** Records a retry and a gap. Rethrows what stops the whole stream. */
async function handleChildFailure(
  run: SyncRun,
  stream: ChildStreamName,
  parent: PendingParent,
  error: unknown,
) {
  if (!(error instanceof ApiError)) throw error
  const { failure } = error
  if (failure.kind === 'aborted' || failure.kind === 'denied') throw error
  if (isNotFound(error) && (await isParentDeleted(run, stream, parent.parentId))) {
    await markRowDeleted(run, streamSpecs[stream].parent, parent.parentId)
    return
  }
  const retryAt = run.now() + retryDelayMs(parent.attempts)
  await run.mirror.recordChildFailure(stream, parent.parentId, error.message, retryAt)
}

/** A 404 of its children may mean so; a request for the parent confirms it. */
async function isParentDeleted(
  run: SyncRun,
  stream: ChildStreamName,
  parentId: string,
): Promise<boolean> {
  return getParent(run, stream, parentId).then(() => false, isNotFound)
}

function getParent(run: SyncRun, stream: ChildStreamName, parentId: string) {
  const { name, rowPath } = listStreams[streamSpecs[stream].parent]
  return run.get(name, rowPath(run.projectId, parentId), {}, 'fresh')
}

/** Half a minute at first, doubled with each attempt, at most a day. */
function retryDelayMs(attempts: number): Ms {
  return Math.min(86_400_000, 30_000 * 2 ** Math.min(attempts, 12))
}

export function childObjectReader(run: SyncRun, stream: ChildObjectStream): ChildReader {
  // One after the other: what the first shows saves the requests of the others.
  const inTurn = createTurns()
  return async (parent, priority) => {
    const isAbsent = () => inTurn(() => confirmAbsent(run, stream.name, parent.parentId))
    const response = await run
      .get(stream.name, stream.path(parent.parentId), {}, priority)
      .catch(async (error) => {
        if (isNotFound(error) && (await isAbsent())) return null
        throw error
      })
    const item = asJsonObject(response?.data ?? null) as Kept<JsonObject> | null
    const now = response?.cursorLimit ?? run.cursorLimit()
    const rereadAfter = stream.rereadAfter(item, ageOf(parent, now))
    const { parentId, requestedVersion } = parent
    const result = await run.mirror.commit({
      stream: stream.name,
      rows: [stream.parseRow(item, parentId, now)],
      requestedAt: response?.requestedAt ?? run.now(),
      childRead: {
        stream: stream.name,
        parentId,
        requestedVersion,
        cursor: parent.cursor ?? rfc3339(now),
        completeness: 'complete',
        dueAt: rereadAfter === null ? null : run.now() + rereadAfter * 1000,
      },
    })
    run.stats.recordPage(stream.name, 1, result)
  }
}

/** The time since the call, or since its first read if it shows no time or a future one. */
function ageOf(
  { parentLastActiveAt: calledAt, cursor }: PendingParent,
  now: EpochSeconds,
): Seconds {
  return now - (calledAt !== null && calledAt <= now ? calledAt : (parseTime(cursor) ?? now))
}

/**
 * Whether a 404 means that the parent has no such object: only if the parent itself exists. Checked
 * once for all parents.
 */
async function confirmAbsent(
  run: SyncRun,
  stream: ChildObjectStream['name'],
  parent: string,
): Promise<boolean> {
  const name = `${stream}.none`
  if (run.behaviours.has(name)) return true
  const response = await nullIfNotFound(getParent(run, stream, parent))
  if (response === null) return false
  const id = response.requestId ?? 'without id'
  const evidence = `a row exists whose ${stream} were answered 404, request ${id}`
  await commitWithoutRows(run, stream, {
    observations: [{ name, value: 'answered 404', evidence }],
  })
  return true
}
