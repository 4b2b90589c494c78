/**
 * What is read one parent at a time: messages, activity, recordings. What is left to read is a query over the
 * warehouse, so a child that fails is simply due again later, and never holds up the others.
 */
import { CallFailed, describe } from '../core/failure.ts'
import { tolerated } from '../core/horizon.ts'
import type { Lane } from '../core/lane.ts'
import { type ChildStream, childStreams, type DueChild } from '../core/mirror.ts'
import type { Ms, Seconds } from '../core/time.ts'
import { lists } from '../streams/catalog.ts'
import type { Run } from './deps.ts'
import { latestOf } from './latest.ts'
import { sideBySide } from './side-by-side.ts'
import { isGone, isRefused, stopIfEnough } from './stop.ts'
import { markGone } from './vanished.ts'

/** `latest`: how late it was at least, before the child is asked for. */
export type ReadChild = (child: DueChild, lane: Lane, latest: Seconds) => Promise<void>

/** So many conversations with messages dated ahead are read again by an incremental pass, longest not read first. */
const aheadAtMost = 200

const portion = 400
const atOnce = 16

/** A reconcile reads again at least so many parents' children, and at least one in so many: each within a week of nights. */
const proofRead = { atLeast: 1000, oneIn: 7 }

/** Reads the children of every parent that is due, and once more those that failed on the way. */
export async function syncChildren(run: Run, stream: ChildStream, read: ReadChild): Promise<void> {
  if (run.mode !== 'incremental') {
    await run.mirror.makeDue(stream, run.mode === 'full' ? 'all' : proofRead, run.now())
  } else if (stream === 'messages') {
    await run.mirror.makeDueAhead(run.horizon() + tolerated, aheadAtMost, run.now())
  }
  run.tally.left(stream, await run.mirror.countDue(stream, run.now()))
  const failed: DueChild[] = []
  // What becomes due from now on is for the next pass: a list that lacks something is not asked again at once.
  const now = run.now()
  // Whoever was read before is not read twice in one pass, even if somebody sets this machine's clock back.
  const again = new Set<string>()
  for (let first = true; ; first = false) {
    if (!first) stopIfEnough(run)
    // The first child alone: what it teaches about the service saves the others from asking the same.
    const all = await run.mirror.dueChildren(stream, now, first ? 1 : portion)
    const due = all.filter(({ parentId }) => !again.has(parentId))
    if (due.length === 0) break
    for (const { parentId, fetched } of due) if (fetched > 0) again.add(parentId)
    failed.push(...(await readAll(run, stream, due, read)))
  }
  const lost = await readAll(run, stream, failed, read)
  if (lost.length > 0) run.tally.fail(stream, `${lost.length} of its lists could not be read; they are due again soon`)
}

/** Reads the children of these parents; gives back those that failed and may not fail another time. */
async function readAll(run: Run, stream: ChildStream, due: readonly DueChild[], read: ReadChild): Promise<DueChild[]> {
  const latest = await latestOf(run)
  const attempt = async (child: DueChild) => {
    stopIfEnough(run)
    try {
      await read(child, laneOf(child), latest)
      return []
    } catch (error) {
      await settle(run, stream, child, error)
      return isRefused(error) ? [] : [child]
    }
  }
  return (await sideBySide(due, atOnce, attempt)).flat()
}

function laneOf({ fetched, whole }: DueChild): Lane {
  if (fetched === 0) return 'backfill'
  return whole ? 'verify' : 'fresh'
}

/** After a failed read of one child: it is due again later, and a gap until then. Throws what stops the stream. */
async function settle(run: Run, stream: ChildStream, child: DueChild, error: unknown): Promise<void> {
  if (!(error instanceof CallFailed)) throw error
  const { failure } = error
  if (failure.kind === 'aborted' || failure.kind === 'denied') throw error
  const gone = isGone(error) && (await parentIsGone(run, stream, child.parentId))
  if (gone && (await markGone(run, childStreams[stream], child.parentId))) return
  await run.mirror.childFailed(stream, child.parentId, describe(failure), run.now() + backOff(child.attempts))
}

/** A 404 of the child says that there is no such parent: the parent is asked itself before it is believed. */
async function parentIsGone(run: Run, stream: ChildStream, parentId: string): Promise<boolean> {
  const parent = lists.find((list) => list.name === childStreams[stream])
  if (parent === undefined) return false
  try {
    await run.get(parent.one(run.project, parentId), {}, 'fresh')
    return false
  } catch (error) {
    return isGone(error)
  }
}

/** Half a minute at first, twice as long each time, a day at the most. */
function backOff(attempts: number): Ms {
  return Math.min(86_400_000, 30_000 * 2 ** Math.min(attempts, 12))
}
