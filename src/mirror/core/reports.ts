/** What commands print, as text and behind `--json`. Times are RFC 3339 text. */
import type { StreamName } from '../../../schema/stream-specs.ts'
import type { ProjectName } from '../../values/project.ts'
import type { Ms } from '../../values/time.ts'
import type { AuditEstimate, AuditResult, Difference } from './audit.ts'

export type SyncMode = 'incremental' | 'reconcile' | 'full'

/** `gaps`: known gaps or skipped streams. `interrupted`: it had to end; the next run continues. */
export type SyncOutcome = 'complete' | 'gaps' | 'failed' | 'interrupted'

export type StreamReport = {
  readonly stream: StreamName
  readonly requests: number
  readonly rows: number
  readonly changed: number
  /** Milliseconds from the stream's first request to its last commit. */
  readonly tookMs: number
  /** The missing scope if the stream was skipped, else null. */
  readonly skipped: string | null
  /** Why the stream was not read completely, else null. */
  readonly failed: string | null
}

/** `sync`, one project. */
export type SyncReport = {
  readonly project: ProjectName
  readonly mode: SyncMode
  readonly outcome: SyncOutcome
  readonly tookMs: Ms
  readonly requests: number
  readonly rows: number
  readonly changed: number
  readonly streams: readonly StreamReport[]
  /** Open gaps of the project, whichever run found them: the first thousand. */
  readonly gaps: readonly GapReport[]
  readonly openGaps: number
  /** Sentences for users: what the service does not show, what changed. */
  readonly notices: readonly string[]
}

export type GapReport = {
  readonly stream: StreamName
  readonly from: string | null
  readonly to: string | null
  readonly reason: string
  readonly foundAt: string
}

/** The progress of one stream of a running sync, sent about once per stored page. */
export type SyncProgress = {
  readonly stream: StreamName
  readonly state: 'running' | 'done' | 'skipped' | 'failed'
  readonly rows: number
  readonly changed: number
  /** Of a comparison, which changes nothing: how many rows differ. */
  readonly differing?: number
  readonly requests: number
  /** Requests; null = unknown. */
  readonly left: number | null
}

/** `verify`, one project: the differences between the mirror and the service. */
export type VerifyReport = {
  readonly project: ProjectName
  readonly streams: readonly {
    readonly stream: StreamName
    readonly compared: number
    readonly differing: number
    /** The missing scope if the stream was not compared, else null. */
    readonly skipped: string | null
    /** Why not every row of the service could be read. */
    readonly incomplete?: string
  }[]
  readonly differences: readonly Difference[]
  readonly requests: number
  /** There are more differences than `differences` lists. */
  readonly truncated: boolean
}

/** `audit`, one project: one for each stream; empty if none could be audited yet. */
export type AuditReport = {
  readonly project: ProjectName
  readonly audits: readonly AuditResult[]
  readonly differences: readonly Difference[]
  /** What all audits of the last 30 days show. */
  readonly estimates: readonly AuditEstimate[]
  readonly outcome: 'complete' | 'interrupted'
  readonly requests: number
  /** Why a stream was not audited, or deleted rows were not marked. Sentences for users. */
  readonly notices: readonly string[]
}
