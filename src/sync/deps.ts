/** What a sync run is told and may use: values and functions, so that the story knows no HTTP and no SQL. */

import type { ApiFailure } from '../core/api-failure.ts'
import type { ApiGet } from '../core/api-request.ts'
import type { Mirror, SyncMode } from '../core/mirror.ts'
import type { PagingProfile } from '../core/pagination/paging-profile.ts'
import type { Priority } from '../core/rate-limit/priority.ts'
import type { SyncProgress } from '../core/report.ts'
import type { StreamName } from '../core/row.ts'
import type { EpochMs, Seconds } from '../core/time.ts'
import type { RunStats } from './run-stats.ts'

export type SyncDeps = {
  /** The project's id at the service. */
  readonly projectId: string
  readonly mode: SyncMode
  readonly streams: ReadonlySet<StreamName>
  /** The streams that the project mirrors, whichever this run reads. */
  readonly mirrored: ReadonlySet<StreamName>
  /** How far back calls, analytics and activity go; null = all there is. */
  readonly startDate: Seconds | null
  readonly timeZone: string
  /** How far behind its cursor an incremental pass begins. */
  readonly lookBack: Seconds
  readonly get: ApiGet
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
export type SyncRun = SyncDeps & {
  readonly id: string
  readonly stats: RunStats
  readonly profiles: Map<string, PagingProfile>
  readonly notices: Set<string>
  /** Streams that could not begin, as others have to be read before. */
  readonly waitingStreams: Set<StreamName>
  /** What ended a stream before its end. */
  readonly failures: Map<StreamName, ApiFailure>
  /** Whether the service has answered anything of what was asked. */
  readonly isAnswered: () => boolean
  /** Rows dated ahead of the clocks, by their ids, as the lists showed them. */
  readonly futureDated: Map<StreamName, Set<string>>
  /** Lists that showed nothing at all, and said that there is more. */
  readonly emptyListsWithMore: Set<StreamName>
  /** The smaller of the two clocks, the service's as last heard and this machine's. */
  readonly cursorLimit: () => Seconds
  /** How many seconds the service's clock is ahead of this machine's, as this run last heard; null = it has not. */
  readonly clockOffset: () => Seconds | null
  /** This machine's clock, and the service's as last heard; the same where it sends no `Date`. */
  readonly clocks: () => { readonly localTime: Seconds; readonly serviceTime: Seconds }
}

/** A first or a proof-reading pass is less urgent than news. */
export function priorityFor(run: SyncRun, first: boolean): Priority {
  return run.mode === 'incremental' ? (first ? 'backfill' : 'fresh') : 'verify'
}
