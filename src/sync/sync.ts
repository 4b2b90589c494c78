/**
 * One pass over one project: the lists side by side, then what hangs on their rows. A stream's trouble is its own: a
 * missing scope skips it, a failure ends it, and the others go on. Only a key that may not do anything stops all.
 */
import { ApiError, type ApiFailure, describeFailure } from '../core/api-failure.ts'
import { clockOffsetCursor, type StreamReport, type SyncOutcome } from '../core/mirror.ts'
import { gapReasons } from '../core/pagination/scan-state.ts'
import type { StreamName } from '../core/row.ts'
import type { Seconds } from '../core/time.ts'
import { analytics } from '../streams/analytics.ts'
import { availability } from '../streams/availability.ts'
import { allStreams, childListStreams, childObjectStreams, listStreams } from '../streams/catalog.ts'
import type { Stream } from '../streams/stream.ts'
import { syncChildLists } from './child-lists.ts'
import { childObjectReader } from './child-objects.ts'
import { syncChildren } from './children.ts'
import { clockNotices } from './clocks.ts'
import { syncDailyRollups } from './daily-rollups.ts'
import type { SyncDeps, SyncRun } from './deps.ts'
import { syncList } from './lists.ts'
import { alwaysSaysMore } from './pages.ts'
import { createRunStats } from './run-stats.ts'
import { syncSnapshot } from './snapshot.ts'

export type SyncResult = {
  readonly outcome: SyncOutcome
  readonly reports: readonly StreamReport[]
  readonly notices: readonly string[]
  /** The failure that stopped the whole run: a key that may do nothing, or an address where nobody serves this API. */
  readonly stopped: ApiFailure | null
}

/** Runs one pass to its end, or to the end of the pages in hand. Never throws CallFailed; anything thrown is a bug. */
export async function runSync(deps: SyncDeps): Promise<SyncResult> {
  const stop = new AbortController()
  const signal = AbortSignal.any([deps.signal, stop.signal])
  const run = await startRun({ ...deps, signal })
  const heartbeatTimer = setInterval(() => void sendHeartbeat(run), 1000)
  let stopped: ApiFailure | null = null
  const runGuarded = (stream: Stream) =>
    runStream(run, stream).catch((error) => {
      stopped ??= error instanceof ApiError ? error.failure : null
      stop.abort()
      if (!(error instanceof ApiError)) throw error
    })
  try {
    await runAll([availability, ...listStreams], runGuarded)
    stopped ??= serviceFailure(run)
    if (stopped !== null) stop.abort()
    for (const notice of await sortOrderNotices(run)) run.notices.add(notice)
    await recordEmptyLists(run)
    await runAll([...childListStreams, ...childObjectStreams], runGuarded)
    for (const notice of await clockNotices(run, run.clockOffset())) run.notices.add(notice)
    // Last, as the first day to ask for is the earliest that any row speaks of.
    await runAll([analytics], runGuarded)
  } finally {
    clearInterval(heartbeatTimer)
  }
  await storeClockOffset(run)
  const reports = run.stats.reports()
  const outcome = await toOutcome(run, deps.signal.aborted, stopped !== null, reports)
  await sendHeartbeat(run)
  // A stream that waits has not come to its end.
  const startedReports = reports.filter(({ stream }) => !run.waitingStreams.has(stream))
  await run.mirror.finishRun(run.id, outcome, startedReports, run.now())
  return { outcome, reports, notices: [...run.notices], stopped }
}

async function startRun(deps: SyncDeps): Promise<SyncRun> {
  const stats = createRunStats(deps.now, deps.onProgress)
  const id = await deps.mirror.startRun(deps.mode, deps.now())
  // What an earlier run has heard holds until an answer says otherwise.
  let offset = Number(await deps.mirror.readCursor(clockOffsetCursor)) || 0
  let heardOffset: Seconds | null = null
  let answered = false
  const run: SyncRun = {
    ...deps,
    id,
    stats,
    profiles: new Map(),
    notices: new Set(),
    waitingStreams: new Set(),
    failures: new Map(),
    isAnswered: () => answered,
    futureDated: new Map(),
    emptyListsWithMore: new Set(),
    cursorLimit: () => Math.floor(deps.now() / 1000) + Math.min(0, offset),
    clockOffset: () => heardOffset,
    clocks: () => {
      const here = Math.floor(deps.now() / 1000)
      return { localTime: here, serviceTime: here + offset }
    },
    get: async (path, query, lane) => {
      const answer = await deps.get(path, query, lane)
      answered = true
      if (answer.servedAt !== null) {
        heardOffset = answer.servedAt - Math.floor(deps.now() / 1000)
        offset = heardOffset
      }
      return answer
    },
  }
  return run
}

/** Only now all lists have shown whether the service says so of any last page. */
async function recordEmptyLists(run: SyncRun): Promise<void> {
  if (run.emptyListsWithMore.size === 0 || (await alwaysSaysMore(run))) return
  for (const stream of run.emptyListsWithMore) {
    const gaps = [{ stream, from: null, to: null, reason: gapReasons.hollow }]
    await run.mirror.commit({ stream, rows: [], askedAt: run.now(), gaps })
  }
}

/** For `status`, and for a pass that has to begin before it hears the service's clock. */
async function storeClockOffset(run: SyncRun): Promise<void> {
  const offset = run.clockOffset()
  if (offset === null || String(offset) === (await run.mirror.readCursor(clockOffsetCursor))) return
  await run.mirror.commit({
    stream: 'availability',
    rows: [],
    askedAt: run.now(),
    cursors: { [clockOffsetCursor]: String(offset) },
  })
}

/** All of them to their end, even if one throws; then the first that was thrown. */
async function runAll(streams: readonly Stream[], work: (stream: Stream) => Promise<void>): Promise<void> {
  const ends = await Promise.allSettled(streams.map(work))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}

/** One stream to its end. Throws CallFailed only where the whole key is denied. */
async function runStream(run: SyncRun, stream: Stream): Promise<void> {
  if (!run.streams.has(stream.name) || run.signal.aborted) return
  const counted: SyncRun = { ...run, get: countingGet(run, stream.name) }
  run.stats.start(stream.name)
  try {
    if (isScopeDenied(run, stream)) run.stats.skip(stream.name, stream.scope)
    else await syncStream(counted, stream)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const { failure } = error
    run.failures.set(stream.name, failure)
    if (failure.kind === 'denied' && failure.scope === null && failure.code !== 'api_key_scope_missing') throw error
    if (failure.kind === 'denied') run.stats.skip(stream.name, failure.scope ?? stream.scope)
    else run.stats.fail(stream.name, describeFailure(failure))
    if (failure.kind !== 'aborted')
      run.log.warn({ event: 'stream.ended', stream: stream.name, why: describeFailure(failure) })
  } finally {
    run.stats.finish(stream.name)
  }
}

/** The failure of all streams, if none got any answer and none was refused for itself: then it is not about the streams. */
function serviceFailure(run: SyncRun): ApiFailure | null {
  if (run.isAnswered()) return null
  const failures = [...run.failures.values()]
  const [first = null] = failures
  const isUnreachable = (failure: ApiFailure) =>
    failure.kind === 'transient' ||
    (failure.kind === 'refused' && (isRedirect(failure.status) || failure.status === 404))
  return failures.length === run.stats.reports().length && failures.every(isUnreachable) ? first : null
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400
}

function syncStream(run: SyncRun, stream: Stream): Promise<void> {
  switch (stream.kind) {
    case 'list':
      return syncList(run, stream)
    case 'branch':
      return syncChildLists(run, stream)
    case 'leaf':
      return syncChildren(run, stream.name, childObjectReader(run, stream))
    case 'daily':
      return syncDailyRollups(run, stream)
    case 'moment':
      return syncSnapshot(run, stream)
  }
}

function countingGet(run: SyncRun, stream: StreamName): SyncRun['get'] {
  return (path, query, lane) => {
    run.stats.recordRequest(stream)
    return run.get(path, query, lane)
  }
}

/** A stream whose scope another one has just been denied need not ask again. */
function isScopeDenied(run: SyncRun, stream: Stream): boolean {
  const skipped = run.stats.reports().filter((report) => report.skipped !== null)
  return skipped.some((report) => allStreams.find((one) => one.name === report.stream)?.scope === stream.scope)
}

/** What the order of the lists means for an incremental pass, where it means that something will not show. */
async function sortOrderNotices(run: SyncRun): Promise<string[]> {
  const order = run.profiles.get('conversations')?.order
  if (order == null || order.fields.some((field) => field !== 'createdAt')) return []
  return [
    'The service lists conversations by their creation: a new message in an older conversation shows in the next ' +
      'incremental pass only while the conversation is open, otherwise after `deskmirror sync --mode reconcile`.',
  ]
}

async function toOutcome(
  run: SyncRun,
  interrupted: boolean,
  denied: boolean,
  reports: readonly StreamReport[],
): Promise<SyncOutcome> {
  if (denied) return 'failed'
  if (interrupted || [...run.failures.values()].some(({ kind }) => kind === 'aborted')) return 'interrupted'
  if (reports.some((report) => report.failed !== null)) return 'failed'
  const gaps = await Promise.all([...run.streams].map((stream) => run.mirror.listOpenGaps(stream)))
  return gaps.some((open) => open.length > 0) || reports.some((report) => report.skipped !== null) ? 'gaps' : 'complete'
}

/** A beat that fails is told of at `debug`: what the run itself meets of the same is told of anyway. */
function sendHeartbeat(run: SyncRun): Promise<void> {
  return run.mirror.heartbeat(run.id, run.requests(), run.now()).catch((error) => {
    run.log.debug({ event: 'run.beat_failed', why: error instanceof Error ? error.message : String(error) })
  })
}
