/** What `status` reports of one project. Times are RFC 3339 text. */
import type { ServiceBehaviour } from '../../../schema/row.ts'
import type { StreamName } from '../../../schema/stream-specs.ts'
import type { AuditEstimate, GapReport, SyncMode, SyncOutcome } from '../../mirror/mirror.ts'
import type { ProjectName } from '../../values/project.ts'
import type { Ms } from '../../values/time.ts'
import type { JobKind } from './job-failure.ts'

/** A failing job of the workers that has not succeeded since. */
type FailureReport = {
  readonly job: JobKind
  /** The stream and mode of a sync, the lane of write-backs, or the schedule; else empty. */
  readonly subject: string
  readonly since: string
  readonly lastAt: string
  readonly failures: number
  readonly reason: string
}

/** The conversations whose facts for analysts are still to be derived. */
type FactsWaiting = {
  readonly conversations: number
  /** All facts are being derived anew, because the settings or the definitions changed. */
  readonly isRebuild: boolean
}

/** `status`, one project. Reads only the warehouse. */
export type StatusReport = {
  readonly project: ProjectName
  readonly streams: readonly {
    readonly stream: StreamName
    readonly rows: number
    readonly deleted: number
    /** When the rows were counted, if not now. */
    readonly countedAt: string | null
    /** When the stream was last read completely; null = never. */
    readonly syncedAt: string | null
    /** The newest time in a mirrored row. */
    readonly newest: string | null
    /** Rows dated ahead of the clocks, counted to 10,000. */
    readonly ahead: number
    /** Parents whose children are still to be read. */
    readonly due: number
    readonly skipped: string | null
    readonly failed: string | null
    /** The first of the consecutive failures; null = it does not fail. */
    readonly failedSince: string | null
  }[]
  /** Other failing jobs of the workers, of this project and of all projects. */
  readonly failures: readonly FailureReport[]
  readonly lastRun: {
    readonly id: string
    readonly mode: SyncMode
    readonly startedAt: string
    readonly finishedAt: string | null
    readonly outcome: SyncOutcome | null
    readonly requests: number
  } | null
  /** Seconds by which the service's clock was ahead of this machine's in the last response; null = unknown. */
  readonly clockOffset: number | null
  /** The process that is syncing now, if any. */
  readonly running: { readonly holder: string; readonly since: string } | null
  /** Running workers. `queue`: redis, postgres or embedded. `heardAt`: the last heartbeat. */
  readonly workers: readonly {
    readonly holder: string
    readonly queue: string
    readonly since: string
    readonly heardAt: string
  }[]
  /** The worker sends nothing for this project until then because the service denied its key. */
  readonly paused: { readonly until: string; readonly why: string } | null
  /** No write-back is sent because the warehouse went back in time, until a person has said how to go on. */
  readonly held: { readonly since: string; readonly why: string } | null
  readonly gaps: readonly GapReport[]
  readonly facts: FactsWaiting
  /** What the audits of the last 30 days show, by stream. */
  readonly audits: readonly AuditEstimate[]
  readonly writebacks: Readonly<Record<string, number>>
  /** Write-backs without a project, which were inserted by plain SQL. */
  readonly nameless: number
  /** Lanes that wait until a person resolves an uncertain write-back. */
  readonly heldLanes: number
  readonly behaviours: readonly (ServiceBehaviour & { readonly learnedAt: string })[]
  /** Requests of all processes in the last window, and how long the pending work takes at the configured rate. */
  readonly budget: {
    readonly usedInWindow: number
    readonly limit: number
    readonly windowMs: Ms
    readonly forecastMs: Ms
    /** When the record of recent requests was last lost; nothing was sent for one window after that. */
    readonly lost: { readonly at: string; readonly why: string } | null
  }
}
