/** What a sync run is told and may use: values and functions, so that the story knows no HTTP and no SQL. */
import type { Get } from '../core/call.ts'
import type { Failure } from '../core/failure.ts'
import type { Lane } from '../core/lane.ts'
import type { Mirror, RunMode } from '../core/mirror.ts'
import type { SyncProgress } from '../core/report.ts'
import type { StreamName } from '../core/row.ts'
import type { EpochMs, Seconds } from '../core/time.ts'
import type { Knowledge } from '../core/walk/knowledge.ts'
import type { Tally } from './tally.ts'

export type SyncDeps = {
  /** The project's id at the service. */
  readonly project: string
  readonly mode: RunMode
  readonly streams: ReadonlySet<StreamName>
  /** The streams that the project mirrors, whichever this run reads. */
  readonly mirrored: ReadonlySet<StreamName>
  /** How far back calls, analytics and activity go; null = all there is. */
  readonly startDate: Seconds | null
  readonly timeZone: string
  /** How far behind its cursor an incremental pass begins. */
  readonly lookBack: Seconds
  readonly get: Get
  readonly mirror: Mirror
  /** HTTP requests sent so far, retries included. */
  readonly requests: () => number
  readonly now: () => EpochMs
  /** Stops the run after the pages in hand. */
  readonly signal: AbortSignal
  /**
   * Whether this portion of the work is over. Asked only where what is left is noted down, so that portion after portion
   * comes to an end.
   */
  readonly isEnough?: () => boolean
  readonly onProgress: (progress: SyncProgress) => void
  readonly log: Log
}

/** pino, or whatever takes its events. */
export type Log = {
  readonly debug: (event: Readonly<Record<string, unknown>>) => void
  readonly info: (event: Readonly<Record<string, unknown>>) => void
  readonly warn: (event: Readonly<Record<string, unknown>>) => void
}

/** One run's shared state: what it has learned, counted and noticed so far. */
export type Run = SyncDeps & {
  readonly id: string
  readonly tally: Tally
  readonly known: Map<string, Knowledge>
  readonly notices: Set<string>
  /** Streams that could not begin, as others have to be read before. */
  readonly waiting: Set<StreamName>
  /** What ended a stream before its end. */
  readonly failures: Map<StreamName, Failure>
  /** Whether the service has answered anything of what was asked. */
  readonly isAnswered: () => boolean
  /** Rows dated ahead of the clocks, by their ids, as the lists showed them. */
  readonly ahead: Map<StreamName, Set<string>>
  /** Lists that showed nothing at all, and said that there is more. */
  readonly hollow: Set<StreamName>
  /** The smaller of the two clocks, the service's as last heard and this machine's. */
  readonly horizon: () => Seconds
  /** How many seconds the service's clock is ahead of this machine's, as this run last heard; null = it has not. */
  readonly heard: () => Seconds | null
  /** This machine's clock, and the service's as last heard; the same where it sends no `Date`. */
  readonly clocks: () => { readonly here: Seconds; readonly there: Seconds }
}

/** A first or a proof-reading pass is less urgent than news. */
export function laneFor(run: Run, first: boolean): Lane {
  return run.mode === 'incremental' ? (first ? 'backfill' : 'fresh') : 'verify'
}
