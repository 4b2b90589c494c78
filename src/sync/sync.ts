/**
 * One pass over one project: the lists side by side, then what hangs on their rows. A stream's trouble is its own: a
 * missing scope skips it, a failure ends it, and the others go on. Only a key that may not do anything stops all.
 */
import { CallFailed, describe, type Failure } from '../core/failure.ts'
import { clockNote, type RunOutcome, type StreamReport } from '../core/mirror.ts'
import type { StreamName } from '../core/row.ts'
import type { Seconds } from '../core/time.ts'
import { reasons } from '../core/walk/state.ts'
import { analytics } from '../streams/analytics.ts'
import { availability } from '../streams/availability.ts'
import { branches, catalog, leaves, lists } from '../streams/catalog.ts'
import type { Stream } from '../streams/stream.ts'
import { syncBranches } from './branches.ts'
import { syncChildren } from './children.ts'
import { clockNotices } from './clocks.ts'
import { syncDaily } from './daily.ts'
import type { Run, SyncDeps } from './deps.ts'
import { leafReader } from './leaves.ts'
import { syncList } from './lists.ts'
import { syncMoment } from './moment.ts'
import { saysMore } from './pages.ts'
import { createTally } from './tally.ts'

export type Synced = {
  readonly outcome: RunOutcome
  readonly reports: readonly StreamReport[]
  readonly notices: readonly string[]
  /** The failure that stopped the whole run: a key that may do nothing, or an address where nobody serves this API. */
  readonly stopped: Failure | null
}

/** Runs one pass to its end, or to the end of the pages in hand. Never throws CallFailed; anything thrown is a bug. */
export async function sync(deps: SyncDeps): Promise<Synced> {
  const stop = new AbortController()
  const signal = AbortSignal.any([deps.signal, stop.signal])
  const run = await begin({ ...deps, signal })
  const pulse = setInterval(() => void beat(run), 1000)
  let stopped: Failure | null = null
  const guard = (stream: Stream) =>
    guarded(run, stream).catch((error) => {
      stopped ??= error instanceof CallFailed ? error.failure : null
      stop.abort()
      if (!(error instanceof CallFailed)) throw error
    })
  try {
    await each([availability, ...lists], guard)
    stopped ??= noService(run)
    if (stopped !== null) stop.abort()
    for (const notice of await orderNotices(run)) run.notices.add(notice)
    await stateHollow(run)
    await each([...branches, ...leaves], guard)
    for (const notice of await clockNotices(run, run.heard())) run.notices.add(notice)
    // Last, as the first day to ask for is the earliest that any row speaks of.
    await each([analytics], guard)
  } finally {
    clearInterval(pulse)
  }
  await noteClock(run)
  const reports = run.tally.reports()
  const outcome = await outcomeOf(run, deps.signal.aborted, stopped !== null, reports)
  await beat(run)
  // A stream that waits has not come to its end.
  const begun = reports.filter(({ stream }) => !run.waiting.has(stream))
  await run.mirror.finishRun(run.id, outcome, begun, run.now())
  return { outcome, reports, notices: [...run.notices], stopped }
}

async function begin(deps: SyncDeps): Promise<Run> {
  const tally = createTally(deps.now, deps.onProgress)
  const id = await deps.mirror.startRun(deps.mode, deps.now())
  // What an earlier run has heard holds until an answer says otherwise.
  let ahead = Number(await deps.mirror.cursor(clockNote)) || 0
  let heard: Seconds | null = null
  let answered = false
  const run: Run = {
    ...deps,
    id,
    tally,
    known: new Map(),
    notices: new Set(),
    waiting: new Set(),
    failures: new Map(),
    isAnswered: () => answered,
    ahead: new Map(),
    hollow: new Set(),
    horizon: () => Math.floor(deps.now() / 1000) + Math.min(0, ahead),
    heard: () => heard,
    clocks: () => {
      const here = Math.floor(deps.now() / 1000)
      return { here, there: here + ahead }
    },
    get: async (path, query, lane) => {
      const answer = await deps.get(path, query, lane)
      answered = true
      if (answer.servedAt !== null) {
        heard = answer.servedAt - Math.floor(deps.now() / 1000)
        ahead = heard
      }
      return answer
    },
  }
  return run
}

/** Only now all lists have shown whether the service says so of any last page. */
async function stateHollow(run: Run): Promise<void> {
  if (run.hollow.size === 0 || (await saysMore(run))) return
  for (const stream of run.hollow) {
    const gaps = [{ stream, from: null, to: null, reason: reasons.hollow }]
    await run.mirror.commit({ stream, rows: [], askedAt: run.now(), gaps })
  }
}

/** For `status`, and for a pass that has to begin before it hears the service's clock. */
async function noteClock(run: Run): Promise<void> {
  const heard = run.heard()
  if (heard === null || String(heard) === (await run.mirror.cursor(clockNote))) return
  await run.mirror.commit({
    stream: 'availability',
    rows: [],
    askedAt: run.now(),
    cursors: { [clockNote]: String(heard) },
  })
}

/** All of them to their end, even if one throws; then the first that was thrown. */
async function each(streams: readonly Stream[], work: (stream: Stream) => Promise<void>): Promise<void> {
  const ends = await Promise.allSettled(streams.map(work))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}

/** One stream to its end. Throws CallFailed only where the whole key is denied. */
async function guarded(run: Run, stream: Stream): Promise<void> {
  if (!run.streams.has(stream.name) || run.signal.aborted) return
  const counted: Run = { ...run, get: counting(run, stream.name) }
  run.tally.open(stream.name)
  try {
    if (lacksScope(run, stream)) run.tally.skip(stream.name, stream.scope)
    else await work(counted, stream)
  } catch (error) {
    if (!(error instanceof CallFailed)) throw error
    const { failure } = error
    run.failures.set(stream.name, failure)
    if (failure.kind === 'denied' && failure.scope === null && failure.code !== 'api_key_scope_missing') throw error
    if (failure.kind === 'denied') run.tally.skip(stream.name, failure.scope ?? stream.scope)
    else run.tally.fail(stream.name, describe(failure))
    if (failure.kind !== 'aborted') run.log.warn({ event: 'stream.ended', stream: stream.name, why: describe(failure) })
  } finally {
    run.tally.close(stream.name)
  }
}

/** The failure of all streams, if none got any answer and none was refused for itself: then it is not about the streams. */
function noService(run: Run): Failure | null {
  if (run.isAnswered()) return null
  const failures = [...run.failures.values()]
  const [first = null] = failures
  const astray = (failure: Failure) =>
    failure.kind === 'transient' ||
    (failure.kind === 'refused' && (isRedirect(failure.status) || failure.status === 404))
  return failures.length === run.tally.reports().length && failures.every(astray) ? first : null
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400
}

function work(run: Run, stream: Stream): Promise<void> {
  switch (stream.kind) {
    case 'list':
      return syncList(run, stream)
    case 'branch':
      return syncBranches(run, stream)
    case 'leaf':
      return syncChildren(run, stream.name, leafReader(run, stream))
    case 'daily':
      return syncDaily(run, stream)
    case 'moment':
      return syncMoment(run, stream)
  }
}

function counting(run: Run, stream: StreamName): Run['get'] {
  return (path, query, lane) => {
    run.tally.request(stream)
    return run.get(path, query, lane)
  }
}

/** A stream whose scope another one has just been denied need not ask again. */
function lacksScope(run: Run, stream: Stream): boolean {
  const skipped = run.tally.reports().filter((report) => report.skipped !== null)
  return skipped.some((report) => catalog.find((one) => one.name === report.stream)?.scope === stream.scope)
}

/** What the order of the lists means for an incremental pass, where it means that something will not show. */
async function orderNotices(run: Run): Promise<string[]> {
  const order = run.known.get('conversations')?.order
  if (order == null || order.fields.some((field) => field !== 'createdAt')) return []
  return [
    'The service lists conversations by their creation: a new message in an older conversation shows in the next ' +
      'incremental pass only while the conversation is open, otherwise after `deskmirror sync --mode reconcile`.',
  ]
}

async function outcomeOf(
  run: Run,
  interrupted: boolean,
  denied: boolean,
  reports: readonly StreamReport[],
): Promise<RunOutcome> {
  if (denied) return 'failed'
  if (interrupted || [...run.failures.values()].some(({ kind }) => kind === 'aborted')) return 'interrupted'
  if (reports.some((report) => report.failed !== null)) return 'failed'
  const gaps = await Promise.all([...run.streams].map((stream) => run.mirror.openGaps(stream)))
  return gaps.some((open) => open.length > 0) || reports.some((report) => report.skipped !== null) ? 'gaps' : 'complete'
}

/** A beat that fails is told of at `debug`: what the run itself meets of the same is told of anyway. */
function beat(run: Run): Promise<void> {
  return run.mirror.beat(run.id, run.requests(), run.now()).catch((error) => {
    run.log.debug({ event: 'run.beat_failed', why: error instanceof Error ? error.message : String(error) })
  })
}
