/**
 * What is read one parent at a time: messages, activity, recordings. What is left to read is a query over the
 * warehouse, so a child that fails is simply due again later, and never holds up the others.
 */
import { ApiError, describeFailure } from '../core/api-failure.ts'
import { clockTolerance } from '../core/cursor-limit.ts'
import { type ChildStreamName, type PendingChild, parentStreams } from '../core/mirror.ts'
import type { Priority } from '../core/rate-limit/priority.ts'
import type { Ms, Seconds } from '../core/time.ts'
import { listStreams } from '../streams/catalog.ts'
import type { SyncRun } from './deps.ts'
import { latestSeenTime } from './latest-time.ts'
import { mapConcurrently } from './map-concurrently.ts'
import { markRowDeleted } from './missing-rows.ts'
import { isNotFound, isRefused, throwIfSliceOver } from './stop.ts'

/** `latest`: how late it was at least, before the child is asked for. */
export type ChildReader = (child: PendingChild, lane: Priority, latest: Seconds) => Promise<void>

/** So many conversations with messages dated ahead are read again by an incremental pass, longest not read first. */
const maxFutureDatedRereads = 200

const batchSize = 400
const concurrency = 16

/** A reconcile reads again at least so many parents' children, and at least one in so many: each within a week of nights. */
const rereadShare = { atLeast: 1000, oneIn: 7 }

/** Reads the children of every parent that is due, and once more those that failed on the way. */
export async function syncChildren(run: SyncRun, stream: ChildStreamName, read: ChildReader): Promise<void> {
  if (run.mode !== 'incremental') {
    await run.mirror.requestFullReads(stream, run.mode === 'full' ? 'all' : rereadShare, run.now())
  } else if (stream === 'messages') {
    await run.mirror.markFutureDatedPending(run.cursorLimit() + clockTolerance, maxFutureDatedRereads, run.now())
  }
  run.stats.setRemaining(stream, await run.mirror.countPendingChildren(stream, run.now()))
  const failed: PendingChild[] = []
  // What becomes due from now on is for the next pass: a list that lacks something is not asked again at once.
  const now = run.now()
  // Whoever was read before is not read twice in one pass, even if somebody sets this machine's clock back.
  const seenParents = new Set<string>()
  for (let first = true; ; first = false) {
    if (!first) throwIfSliceOver(run)
    // The first child alone: what it teaches about the service saves the others from asking the same.
    const all = await run.mirror.readPendingChildren(stream, now, first ? 1 : batchSize)
    const pending = all.filter(({ parentId }) => !seenParents.has(parentId))
    if (pending.length === 0) break
    for (const { parentId, fetched } of pending) if (fetched > 0) seenParents.add(parentId)
    failed.push(...(await readChildren(run, stream, pending, read)))
  }
  const unreadable = await readChildren(run, stream, failed, read)
  if (unreadable.length > 0)
    run.stats.fail(stream, `${unreadable.length} of its lists could not be read; they are due again soon`)
}

/** Reads the children of these parents; gives back those that failed and may not fail another time. */
async function readChildren(
  run: SyncRun,
  stream: ChildStreamName,
  pending: readonly PendingChild[],
  read: ChildReader,
): Promise<PendingChild[]> {
  const latest = await latestSeenTime(run)
  const attempt = async (child: PendingChild) => {
    throwIfSliceOver(run)
    try {
      await read(child, childPriority(child), latest)
      return []
    } catch (error) {
      await handleChildFailure(run, stream, child, error)
      return isRefused(error) ? [] : [child]
    }
  }
  return (await mapConcurrently(pending, concurrency, attempt)).flat()
}

function childPriority({ fetched, whole }: PendingChild): Priority {
  if (fetched === 0) return 'backfill'
  return whole ? 'verify' : 'fresh'
}

/** After a failed read of one child: it is due again later, and a gap until then. Throws what stops the stream. */
async function handleChildFailure(
  run: SyncRun,
  stream: ChildStreamName,
  child: PendingChild,
  error: unknown,
): Promise<void> {
  if (!(error instanceof ApiError)) throw error
  const { failure } = error
  if (failure.kind === 'aborted' || failure.kind === 'denied') throw error
  const isDeleted = isNotFound(error) && (await isParentDeleted(run, stream, child.parentId))
  if (isDeleted && (await markRowDeleted(run, parentStreams[stream], child.parentId))) return
  await run.mirror.recordChildFailure(
    stream,
    child.parentId,
    describeFailure(failure),
    run.now() + retryDelayMs(child.attempts),
  )
}

/** A 404 of the child says that there is no such parent: the parent is asked itself before it is believed. */
async function isParentDeleted(run: SyncRun, stream: ChildStreamName, parentId: string): Promise<boolean> {
  const parent = listStreams.find((list) => list.name === parentStreams[stream])
  if (parent === undefined) return false
  try {
    await run.get(parent.rowPath(run.projectId, parentId), {}, 'fresh')
    return false
  } catch (error) {
    return isNotFound(error)
  }
}

/** Half a minute at first, twice as long each time, a day at the most. */
function retryDelayMs(attempts: number): Ms {
  return Math.min(86_400_000, 30_000 * 2 ** Math.min(attempts, 12))
}
