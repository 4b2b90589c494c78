/**
 * Visitors that conversations name and that the list did not show: one without a time may be on no
 * page, and nothing on the list shows that it is there. They are requested by their ids: a few
 * first, as a service may have deleted them, and all if one exists. Those who had a 404 are
 * requested again once all have been: at most a few at each reconcile, unless the list is known not
 * to show all.
 */
import { uuidPattern } from '../../service/core/path-segment.ts'
import { listStreams } from '../core/streams.ts'
import { absentSet } from '../sql/seen-rows.ts'
import { throwIfSliceOver } from './concurrency.ts'
import { isKnownIncomplete, readByIds, recordIncomplete, startUnlistedCount } from './rows-by-id.ts'
import { priorityFor, type SyncRun } from './run.ts'

/** Set when they were requested once, after the first complete read of both lists. */
const cursorName = 'visitors:named'

const sampleSize = 3
const batchSize = 100

/** After the lists. An incremental sync requests them only if some are known to exist. */
export async function shouldReadNamedVisitors(run: SyncRun): Promise<boolean> {
  if (!isReadNow(run, 'visitors') || !run.mirrored.has('conversations')) return false
  if (run.mode !== 'incremental' || (await isKnownIncomplete(run, 'visitors'))) return true
  return (await run.mirror.readCursor(cursorName)) === null && (await areConversationsRead(run))
}

export async function readNamedVisitors(run: SyncRun): Promise<void> {
  const { mirror } = run
  const { visitors } = listStreams
  // A younger conversation may be of a visitor who came after the list was read.
  const until = run.cursorLimit() - run.lookBackSeconds
  const unlisted = startUnlistedCount(run, visitors)
  const isKnown = await isKnownIncomplete(run, 'visitors')
  // A 404 may have been a fault of the service, so those who had one are requested again.
  const forgetAbsent = () => mirror.forgetSeenRows(absentSet('visitors'))
  if (run.mode === 'full' || (run.mode === 'reconcile' && isKnown)) await forgetAbsent()
  let size = isKnown ? batchSize : sampleSize
  for (let after = ''; ; ) {
    const ids = await mirror.listMissingVisitors(until, after, size)
    // Another id names no visitor of this service, and would be refused.
    const uuids = ids.filter((id) => uuidPattern.test(id))
    const rows = await readByIds(run, visitors, uuids, priorityFor(run, true))
    unlisted.add(rows)
    if (unlisted.isProof()) await recordIncomplete(run, 'visitors')
    if (ids.length < size) {
      if (run.mode === 'reconcile') await forgetAbsent()
      break
    }
    if (uuids.length > 0 && rows.every((row) => row === 'deleted')) break
    after = ids.at(-1) ?? after
    size = batchSize
    // A reconcile would begin anew: the next incremental sync requests the others.
    if (run.mode === 'incremental') throwIfSliceOver(run)
    else if (unlisted.isProof() && run.isSliceOver?.() === true) return
  }
  if (await areConversationsRead(run)) await mirror.writeCursor(cursorName, 'read')
}

/** In this run, to its end. */
function isReadNow(run: SyncRun, stream: 'conversations' | 'visitors'): boolean {
  const report = run.stats.reports().find((each) => each.stream === stream)
  return (
    report !== undefined &&
    report.failed === null &&
    report.skipped === null &&
    !run.earlyEnds.has(stream)
  )
}

async function areConversationsRead(run: SyncRun): Promise<boolean> {
  if (isReadNow(run, 'conversations')) return true
  const statuses = await run.mirror.readStreamStatuses(['conversations'])
  return statuses.get('conversations') === 'complete'
}
