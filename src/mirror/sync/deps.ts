/** What a sync needs from outside: settings of the project, and functions, so that it depends on neither HTTP nor SQL. */

import type { StreamName } from '../../../schema/stream-specs.ts'
import type { ClientLog, LogEvent } from '../../service/client.ts'
import type { ApiGet } from '../../service/core/api-request.ts'
import type { ProjectId } from '../../values/project.ts'
import type { EpochMs, EpochSeconds, Seconds } from '../../values/time.ts'
import type { SyncMode } from '../core/mirror.ts'
import type { SyncProgress } from '../core/reports.ts'
import type { Mirror } from '../sql/mirror.ts'

export type SyncDeps = {
  /** The project's id at the service. */
  readonly projectId: ProjectId
  readonly mode: SyncMode
  /** The streams that this run reads. */
  readonly streams: ReadonlySet<StreamName>
  /** All streams that the project mirrors. */
  readonly mirrored: ReadonlySet<StreamName>
  /** How far back calls, analytics and activity go; null = without limit. */
  readonly startDate: EpochSeconds | null
  readonly timeZone: string
  /** How far behind its cursor an incremental sync begins. */
  readonly lookBackSeconds: Seconds
  readonly get: ApiGet
  readonly mirror: Mirror
  /** HTTP requests sent so far, retries included. */
  readonly requestCount: () => number
  readonly now: () => EpochMs
  /** Stops the run after the current pages. */
  readonly signal: AbortSignal
  /** The time slice is over. Called only after progress was stored, so that a sequence of slices completes the work. */
  readonly isSliceOver?: (() => boolean) | undefined
  readonly onProgress: (progress: SyncProgress) => void
  readonly log: ClientLog & { readonly info: LogEvent }
}
