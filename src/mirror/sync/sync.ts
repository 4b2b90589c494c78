/**
 * One sync run of a project: the lists concurrently, then the streams that belong to their rows. A
 * missing scope skips a stream and a failure ends it; only a denied key stops all.
 */

import type { Gap } from '../../../schema/row.ts'
import { isChildStream, type StreamName, streamSpecs } from '../../../schema/stream-specs.ts'
import {
  ApiError,
  type ApiFailure,
  describeFailure,
  isRowRefused,
  missingScope,
  webPageCode,
} from '../../service/core/api-failure.ts'
import { asJsonObject } from '../../values/json.ts'
import { foreignProject } from '../core/item-fields.ts'
import { clockOffsetCursor, massDeletionGapKey, untimedGap } from '../core/mirror.ts'
import { gapReasons } from '../core/pagination/reading-state.ts'
import type { StreamReport, SyncOutcome } from '../core/reports.ts'
import type { SnapshotStream, Stream } from '../core/stream-kinds.ts'
import { allStreams, analytics, availability, childStreams, listStreams } from '../core/streams.ts'
import { childObjectReader, syncChildren } from './children.ts'
import { earlyEndOf } from './concurrency.ts'
import { syncDailyRollups } from './daily-rollups.ts'
import { refusedListGapKey, syncList } from './lists.ts'
import { readNamedVisitors, shouldReadNamedVisitors } from './named-visitors.ts'
import { commitWithoutRows, isHasMoreUnreliable, reportLearned } from './pages.ts'
import { syncChildLists } from './read-child-lists.ts'
import {
  clockNotices,
  columnNotices,
  createPresentTime,
  runOfStream,
  type SyncDeps,
  type SyncRun,
  startRun,
} from './run.ts'

/**
 * Syncs once, or stops after the current pages. `fatalFailure`: what stopped the whole run: a
 * denied key, or an address that does not serve this API. Throws only bugs, no ApiError.
 */
export async function runSync(deps: SyncDeps) {
  const fatalAbort = new AbortController()
  const signal = AbortSignal.any([deps.signal, fatalAbort.signal])
  const run = await startRun({ ...deps, signal })
  const heartbeatTimer = setInterval(() => void sendHeartbeat(run), 1000)
  let fatalFailure: ApiFailure | null = null
  const runUntilFatal = (stream: Stream, work = syncStream) =>
    runStream(run, stream, work).catch((error) => {
      fatalFailure ??= error instanceof ApiError ? error.failure : null
      fatalAbort.abort()
      if (!(error instanceof ApiError)) throw error
    })
  try {
    await runAll([availability, ...Object.values(listStreams)], runUntilFatal)
    fatalFailure ??= serviceFailure(run)
    if (fatalFailure !== null) fatalAbort.abort()
    await recordEmptyLists(run)
    if (await shouldReadNamedVisitors(run))
      await runUntilFatal(listStreams.visitors, readNamedVisitors)
    await runAll(childStreams, runUntilFatal)
    for (const notice of await clockNotices(run)) run.notices.add(notice)
    for (const notice of await columnNotices(run)) run.notices.add(notice)
    // Last, because the earliest time in any row decides the first day to read.
    await runAll([analytics], runUntilFatal)
  } finally {
    clearInterval(heartbeatTimer)
  }
  await storeClockOffset(run)
  const reports = run.stats.reports()
  const outcome =
    fatalFailure === null ? await toOutcome(run, deps.signal.aborted, reports) : 'failed'
  await sendHeartbeat(run)
  // A blocked stream has not been read, so its read status stays as it is.
  const startedReports = reports.filter(({ stream }) => run.earlyEnds.get(stream) !== 'blocked')
  await run.mirror.finishRun(run.id, outcome, startedReports, run.now())
  const notices: readonly string[] = [...run.notices]
  return { outcome, reports, notices, fatalFailure: fatalFailure as ApiFailure | null }
}

/** After all lists: only then is it known whether `hasMore` is set on every last page. */
async function recordEmptyLists(run: SyncRun): Promise<void> {
  if (run.emptyListsWithMore.size === 0 || isHasMoreUnreliable(run)) return
  for (const stream of run.emptyListsWithMore) {
    const gaps = [untimedGap(stream, gapReasons.emptyWithMore)]
    await commitWithoutRows(run, stream, { gaps })
  }
}

/** For `status`, and for the next run until its first response. */
async function storeClockOffset(run: SyncRun): Promise<void> {
  const offset = run.clockOffset()
  if (offset === null || String(offset) === (await run.mirror.readCursor(clockOffsetCursor))) return
  await run.mirror.writeCursor(clockOffsetCursor, String(offset))
}

/** Waits for all streams, even if one throws. */
async function runAll(
  streams: readonly Stream[],
  work: (stream: Stream) => Promise<void>,
): Promise<void> {
  const results = await Promise.allSettled(streams.map((stream) => work(stream)))
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

/** Syncs one stream. Throws ApiError only if the whole key is denied. */
async function runStream(run: SyncRun, stream: Stream, work: typeof syncStream): Promise<void> {
  if (!run.streams.has(stream.name) || run.signal.aborted) return
  const counted = runOfStream(run, stream.name)
  run.stats.start(stream.name)
  try {
    if (isScopeDenied(run, stream)) run.stats.skip(stream.name, stream.scope)
    else await work(counted, stream)
  } catch (error) {
    const earlyEnd = earlyEndOf(error)
    if (earlyEnd !== null) {
      run.earlyEnds.set(stream.name, earlyEnd)
      return run.stats.fail(stream.name, describeFailure({ kind: 'aborted' }))
    }
    if (!(error instanceof ApiError)) throw error
    const { failure } = error
    run.failures.set(stream.name, failure)
    const why = describeFailure(failure)
    const scope = missingScope(error, stream.scope)
    if (isListRefused(stream, failure)) return await recordRefusedList(run, stream.name, why)
    if (scope === null) run.stats.fail(stream.name, why)
    else run.stats.skip(stream.name, scope)
    // The key itself is denied. A missing scope concerns only some of the streams.
    if (failure.kind === 'denied' && scope === null) throw error
    run.log.warn({
      event: scope === null ? 'stream.failed' : 'stream.skipped',
      stream: stream.name,
      why,
    })
  } finally {
    run.stats.finish(stream.name)
    reportLearned(run, stream.name)
  }
}

/** Whatever was asked for: another sync would be refused, too. */
function isListRefused({ kind }: Stream, failure: ApiFailure): boolean {
  return (
    kind === 'list' && failure.kind === 'refused' && failure.status === 400 && isRowRefused(failure)
  )
}

async function recordRefusedList(run: SyncRun, stream: StreamName, why: string): Promise<void> {
  const next = 'set DESKMIRROR_START_DATE to ask for less, or leave the stream out with --streams'
  const reason = `the service refuses this list (${why}): ${next}`
  const gaps = [untimedGap(stream, reason, refusedListGapKey)]
  await commitWithoutRows(run, stream, { gaps })
  run.notices.add(`${stream}: ${reason}`)
}

/** The first failure, if no stream got a response and none was refused. */
function serviceFailure(run: SyncRun): ApiFailure | null {
  if (run.hasServiceResponded()) return null
  const failures = [...run.failures.values()]
  const [first = null] = failures
  const isWrongAddress = ({ status, code }: { readonly status: number; readonly code: string }) =>
    (status >= 300 && status < 400) || status === 404 || code === webPageCode
  const isUnreachable = (failure: ApiFailure) =>
    failure.kind === 'transient' || (failure.kind === 'refused' && isWrongAddress(failure))
  return failures.length === run.stats.reports().length && failures.every(isUnreachable)
    ? first
    : null
}

function syncStream(run: SyncRun, stream: Stream): Promise<void> {
  switch (stream.kind) {
    case 'list':
      return syncList(run, stream)
    case 'child-list':
      return syncChildLists(run, stream)
    case 'child-object':
      return syncChildren(run, stream.name, childObjectReader(run, stream))
    case 'daily':
      return syncDailyRollups(run, stream)
    case 'snapshot':
      return syncSnapshot(run, stream)
  }
}

/** Stores the current availability of agents. */
async function syncSnapshot(run: SyncRun, stream: SnapshotStream): Promise<void> {
  const { data, requestedAt } = await run.get(stream.name, stream.path(run.projectId), {}, 'fresh')
  const fields = asJsonObject(data)
  const other = foreignProject(fields ?? {}, run.projectId)
  const present = await createPresentTime(run)
  const why =
    fields === null
      ? 'it is not a JSON object'
      : other === null
        ? null
        : `it belongs to another project (${other})`
  const rows = why === null ? [stream.parseRow(data, present())] : []
  const rejectedRows = why === null ? [] : [{ id: null, why }]
  const result = await run.mirror.commit({ stream: stream.name, rows, rejectedRows, requestedAt })
  run.stats.recordPage(stream.name, rows.length, result)
  // A moment that was missed cannot be read later; what counts is that the present one can be read.
  if (why === null && result.rejectedRows === undefined)
    await run.mirror.resolveGaps(stream.name, run.now())
}

/** Another stream with the same scope was denied in this run, so a request would be denied, too. */
function isScopeDenied(run: SyncRun, stream: Stream): boolean {
  const skipped = run.stats.reports().filter((report) => report.skipped !== null)
  return skipped.some(
    (report) => allStreams.find(({ name }) => name === report.stream)?.scope === stream.scope,
  )
}

async function toOutcome(
  run: SyncRun,
  isInterrupted: boolean,
  reports: readonly StreamReport[],
): Promise<SyncOutcome> {
  if (isInterrupted || [...run.earlyEnds.values()].some((end) => end !== 'blocked'))
    return 'interrupted'
  if (reports.some((report) => report.failed !== null)) return 'failed'
  const gaps = await Promise.all([...run.streams].map((stream) => listGapsOf(run, stream)))
  return gaps.flat().length > 0 || reports.some((report) => report.skipped !== null)
    ? 'gaps'
    : 'complete'
}

/** While parents may be deleted, nothing is requested of them. */
async function listGapsOf({ mirror }: SyncRun, stream: StreamName): Promise<readonly Gap[]> {
  const gaps = await mirror.listOpenGaps(stream)
  if (!isChildStream(stream)) return gaps
  const ofParents = await mirror.listOpenGaps(streamSpecs[stream].parent)
  return [...gaps, ...ofParents.filter(({ dedupKey }) => dedupKey === massDeletionGapKey)]
}

/** Logs failures at `debug` only: if the warehouse is away, the run itself reports it. */
function sendHeartbeat(run: SyncRun): Promise<void> {
  return run.mirror.heartbeat(run.id, run.requestCount(), run.now()).catch((error) => {
    run.log.debug({
      event: 'run.heartbeat_failed',
      why: error instanceof Error ? error.message : String(error),
    })
  })
}
