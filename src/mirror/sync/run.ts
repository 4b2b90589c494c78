/** One sync run: what it needs from outside, and the state that its streams share. */
import { childStreamNames, isChildStream, type StreamName } from '../../../schema/stream-specs.ts'
import type { Logger } from '../../log.ts'
import type { ApiFailure } from '../../service/core/api-failure.ts'
import type { Priority } from '../../service/core/api-request.ts'
import type { EarlyEnd } from '../../values/early-end.ts'
import type { ProjectId } from '../../values/project.ts'
import {
  clockToleranceSeconds,
  type EpochMs,
  type EpochSeconds,
  presentTime,
  rfc3339,
  type Seconds,
} from '../../values/time.ts'
import { type CommitResult, clockOffsetCursor } from '../core/mirror.ts'
import type { MirrorGet } from '../core/mirror-get.ts'
import type { RangeSettings } from '../core/mirrored-range.ts'
import type { PagingProfile } from '../core/pagination/paging-profile.ts'
import type { TestedPages } from '../core/pagination/reading-state.ts'
import type { StreamReport, SyncMode, SyncProgress } from '../core/reports.ts'
import type { Mirror } from '../sql/mirror.ts'

export type SyncDeps = RangeSettings & {
  readonly projectId: ProjectId
  readonly mode: SyncMode
  readonly streams: ReadonlySet<StreamName>
  /** All streams that the project mirrors. */
  readonly mirrored: ReadonlySet<StreamName>
  readonly timeZone: string
  /** How far behind its cursor an incremental sync begins. */
  readonly lookBackSeconds: Seconds
  readonly get: MirrorGet
  readonly mirror: Mirror
  /** HTTP requests sent so far, retries included. */
  readonly requestCount: () => number
  readonly now: () => EpochMs
  /** Stops the run after the current pages. */
  readonly signal: AbortSignal
  /** Called only after progress was stored, so that a sequence of slices completes the work. */
  readonly isSliceOver?: (() => boolean) | undefined
  readonly onProgress: (progress: SyncProgress) => void
  readonly log: Pick<Logger, 'debug' | 'info' | 'warn'>
}

/** Its members cannot be set, as each stream has a copy of them: what changes is within them. */
export type SyncRun = Readonly<Awaited<ReturnType<typeof startRun>>>

export async function startRun(deps: SyncDeps) {
  const id = await deps.mirror.startRun(deps.mode, deps.now())
  // The offset that an earlier run stored applies until a response shows another one.
  let offset = Number(await deps.mirror.readCursor(clockOffsetCursor)) || 0
  let measuredOffset: Seconds | null = null
  let hasServiceResponded = false
  const localTime = (): EpochSeconds => Math.floor(deps.now() / 1000)
  const get: MirrorGet = async (...args) => {
    const response = await deps.get(...args)
    hasServiceResponded = true
    if (response.serverDate !== null) offset = measuredOffset = response.serverDate - localTime()
    return response
  }
  return {
    ...deps,
    id,
    get,
    stats: createRunStats(deps.now, deps.onProgress),
    notices: new Set<string>(),
    behaviours: await deps.mirror.readBehaviours(),
    /** Paging profiles by the name of the list. */
    profiles: new Map<string, PagingProfile>(),
    testedPages: new Map<string, TestedPages>(),
    /** Behaviours that this run learns again, with what was known of them. */
    forgotten: new Map<string, string>(),
    /** What pages of this run showed last, and what was known of it before. */
    learned: new Map<
      string,
      { readonly stream: StreamName; readonly was: string | undefined; readonly value: string }
    >(),
    /** `blocked`: others have to be read first. */
    earlyEnds: new Map<StreamName, EarlyEnd>(),
    failures: new Map<StreamName, ApiFailure>(),
    /** Ids of rows dated in the future, as the lists showed them. */
    futureDated: new Map<StreamName, Set<string>>(),
    /** Lists that were empty and had `hasMore` set. */
    emptyListsWithMore: new Set<StreamName>(),
    hasServiceResponded: () => hasServiceResponded,
    /** The earlier of the service's clock, by its last response, and this machine's. */
    cursorLimit: (): EpochSeconds => localTime() + Math.min(0, offset),
    /** By how much the service's clock was ahead in this run; null = no response showed it. */
    clockOffset: () => measuredOffset,
    /** This machine's clock, and the service's by the last known offset. */
    clocks: () => ({ localTime: localTime(), serviceTime: localTime() + offset }),
  }
}

/** The run as one of its streams sees it: its requests are counted. */
export function runOfStream(run: SyncRun, stream: StreamName): SyncRun {
  const get: MirrorGet = (...args) => {
    run.stats.recordRequest(stream)
    return run.get(...args)
  }
  return { ...run, get }
}

/** First reads and rereads are less urgent than new rows. */
export function priorityFor(run: Pick<SyncRun, 'mode'>, isFirst: boolean): Priority {
  return run.mode === 'incremental' ? (isFirst ? 'backfill' : 'fresh') : 'reconcile'
}

function startCounts(at: EpochMs) {
  const none = {
    left: null as number | null,
    skipped: null as string | null,
    failed: null as string | null,
  }
  return { requests: 0, rows: 0, changed: 0, ...none, startedAt: at, endedAt: at }
}

function createRunStats(now: () => EpochMs, onProgress: (progress: SyncProgress) => void) {
  const counts = new Map<StreamName, ReturnType<typeof startCounts>>()
  const count = (stream: StreamName) => {
    const known = counts.get(stream) ?? startCounts(now())
    counts.set(stream, known)
    return known
  }
  const reportProgress = (stream: StreamName, state: SyncProgress['state']) => {
    const { requests, rows, changed, left } = count(stream)
    onProgress({ stream, state, rows, changed, requests, left })
  }
  return {
    start: (stream: StreamName) => reportProgress(stream, 'running'),
    recordRequest: (stream: StreamName) => {
      count(stream).requests += 1
    },
    recordPage: (stream: StreamName, rows: number, { changed }: CommitResult) => {
      const streamCounts = count(stream)
      streamCounts.rows += rows
      streamCounts.changed += changed
      streamCounts.endedAt = now()
      if (streamCounts.left !== null && streamCounts.left > 0) streamCounts.left -= 1
      reportProgress(stream, 'running')
    },
    /** Requests still to make; null = unknown. */
    setRemaining: (stream: StreamName, requests: number | null) => {
      count(stream).left = requests
      reportProgress(stream, 'running')
    },
    skip: (stream: StreamName, scope: string) => {
      count(stream).skipped = scope
      reportProgress(stream, 'skipped')
    },
    fail: (stream: StreamName, why: string) => {
      count(stream).failed ??= why
      reportProgress(stream, 'failed')
    },
    finish: (stream: StreamName) => {
      const { skipped, failed } = count(stream)
      count(stream).left = 0
      if (skipped === null && failed === null) reportProgress(stream, 'done')
    },
    reports: (): readonly StreamReport[] =>
      [...counts].map(
        ([stream, { requests, rows, changed, startedAt, endedAt, skipped, failed }]) => {
          const tookMs = endedAt - startedAt
          return { stream, requests, rows, changed, tookMs, skipped, failed }
        },
      ),
  }
}

/** Rows are counted up to this number. */
const maxCounted = 10_000

/** The current time by the clocks and the messages stored so far. */
export async function createPresentTime({ mirror, clocks }: SyncRun): Promise<() => EpochSeconds> {
  const newestMessage = (await mirror.latestMessageTime()) ?? 0
  return () => presentTime({ ...clocks(), newestMessage })
}

/** Rows of child streams are counted in the mirror instead. */
export function recordFutureDated(
  { futureDated }: SyncRun,
  stream: StreamName,
  ids: readonly string[],
): void {
  if (ids.length === 0 || isChildStream(stream)) return
  const known = futureDated.get(stream) ?? new Set<string>()
  futureDated.set(stream, known)
  for (const id of ids) if (known.size < maxCounted) known.add(id)
}

/** Notices for users after a run. */
export async function clockNotices(run: SyncRun): Promise<string[]> {
  const offset = run.clockOffset()
  const counts = new Map([...run.futureDated].map(([stream, ids]) => [stream, ids.size]))
  for (const stream of childStreamNames) {
    if (!run.streams.has(stream)) continue
    const limit = run.cursorLimit() + clockToleranceSeconds
    counts.set(stream, await run.mirror.countFutureRows(stream, limit, maxCounted))
  }
  const rows = [...counts]
    .filter(([, count]) => count > 0)
    .map(([stream, count]) => futureDatedNotice(stream, count))
  return offset === null || Math.abs(offset) <= clockToleranceSeconds
    ? rows
    : [clockOffsetNotice(run, offset), ...rows]
}

function clockOffsetNotice({ now }: SyncRun, offset: Seconds): string {
  const here = Math.floor(now() / 1000)
  const which = `this machine's clock says ${rfc3339(here)}, the service's ${rfc3339(here + offset)}`
  return (
    `The clocks differ: ${which}. No cursor moves beyond the earlier one, so rows may be ` +
    'read again; none is missed.'
  )
}

function futureDatedNotice(stream: StreamName, count: number): string {
  const many = count >= maxCounted ? `${maxCounted} or more` : String(count)
  const are = count === 1 ? `1 row of ${stream} is` : `${many} rows of ${stream} are`
  return (
    `${are} dated in the future. They are stored, and read again until that time, because ` +
    'cursors stay behind them.'
  )
}

/** Of columns that could not get the type that their values need. */
export async function columnNotices({ mirror, streams }: SyncRun): Promise<string[]> {
  const found = await mirror.listFormerColumns([...streams])
  return found.map(
    ({ column, replacedBy, type }) =>
      `${column} stays of the type ${type}, because something else uses it (a view, an ` +
      'index or a trigger): it is null in rows with a value of another ' +
      `type. ${replacedBy} has all values.`,
  )
}
