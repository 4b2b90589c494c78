/** What the commands print: the shapes behind `--json` and behind the text output. Times are RFC 3339 text. */
import type { AuditEstimate } from './audit.ts'
import type { JobKind } from './job-failure.ts'
import type { StreamReport, SyncMode, SyncOutcome } from './mirror.ts'
import type { ReasonGroup } from './outbox/group-reasons.ts'
import type { StatusCounts } from './outbox/state.ts'
import type { ProjectName } from './project.ts'
import type { ServiceBehaviour } from './row.ts'
import type { StreamName } from './stream-specs.ts'
import type { Ms } from './time.ts'

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
  /** Open gaps of the project, whichever run found them. */
  readonly gaps: readonly GapReport[]
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

/** A failing job of the workers that has not succeeded since. */
export type FailureReport = {
  readonly job: JobKind
  /** The stream and mode of a sync, the lane of write-backs, or the schedule; else empty. */
  readonly subject: string
  readonly since: string
  readonly lastAt: string
  readonly failures: number
  readonly reason: string
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
  /** Requests still to make; null = unknown. */
  readonly left: number | null
}

/** The current state of the request budget, for progress and status. */
export type BudgetView = {
  readonly limit: number
  readonly windowMs: Ms
  /** Slots that may be in use at the same time; fewer after a 429, then slowly more again. */
  readonly slots: number
  readonly inUse: number
  /** For how long a 429 still pauses the whole key; null = it does not. */
  readonly pausedForMs: Ms | null
  /** For how long nothing is sent because the record of recent requests may be lost; null = not closed. */
  readonly closedForMs: Ms | null
  readonly throttled: number
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

/** The conversations whose facts for analysts are still to be derived. */
export type FactsWaiting = {
  readonly conversations: number
  /** All facts are being derived anew, because the settings or the definitions changed. */
  readonly isRebuild: boolean
}

/** What a role may read after `migrate --grant`. */
export type GrantReport = {
  readonly role: string
  /** The objects for analysts. */
  readonly granted: readonly string[]
  /** What else in the schema it can read, by rights that it had before. */
  readonly otherReadable: readonly string[]
}

/** `migrate --rebuild-analytics`, one project. */
export type FactsRebuildReport = {
  readonly project: ProjectName
  readonly conversations: number
  readonly tookMs: Ms
  /** `interrupted`: the next sync run continues. */
  readonly outcome: 'complete' | 'interrupted'
}

/** `push`, one project. */
export type PushReport = {
  readonly project: ProjectName
  /** Write-backs that this process settled, by their new state. */
  readonly settled: StatusCounts
  /** The whole queue at the end, by state. */
  readonly queue: StatusCounts
  readonly tookMs: Ms
  readonly requests: number
  readonly outcome: 'done' | 'held' | 'interrupted'
  /** Stopped batches that have drafts. */
  readonly stopped: readonly { readonly batch: string; readonly drafts: number }[]
  /** Why some remain queued: the circuit breaker, or a missing scope. Sentences for users. */
  readonly notices: readonly string[]
  /** Lanes that wait until a person resolves an uncertain write-back. */
  readonly heldLanes: number
  /** Why write-backs that this process settled did not succeed. */
  readonly reasons: readonly ReasonGroup[]
}

/** The progress of a running push. */
export type PushProgress = {
  readonly settled: number
  /** Of the settled ones. */
  readonly counts: StatusCounts
  readonly reasons: readonly ReasonGroup[]
  readonly left: number
  /** How long the rest takes, with the reads of preconditions and what it waits for. */
  readonly takesMs: Ms
  /** Nothing can be sent before this time. RFC 3339; null if something can. */
  readonly restsUntil: string | null
  readonly restsBecause: string | null
  /** Being sent or verified now. */
  readonly working: number
}

/**
 * One item of `check`. With a warning a sync still works, without some streams if a scope is missing. `hint` says how to
 * fix it; `retryable`: the error may go away by itself.
 */
export type CheckItem = {
  readonly name: string
  readonly state: 'ok' | 'warning' | 'error'
  readonly detail: string
  readonly hint: string | null
  readonly retryable?: boolean
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
    /** Why not every row of the service could be read; missing if all were. */
    readonly incomplete?: string
  }[]
  readonly differences: readonly Difference[]
  readonly requests: number
  /** There are more differences than `differences` lists. */
  readonly truncated: boolean
}

export type Difference = {
  readonly stream: StreamName
  /** The parts of the row's key, joined by slashes. */
  readonly key: string
  readonly kind: 'missing here' | 'gone there' | 'different'
  /** The top-level fields that differ; empty if the whole row is missing. */
  readonly fields: readonly string[]
}

/** Not complete: it was stopped, and the next one and each sync continue. */
export type RewriteReport = {
  readonly kind: 'sqlite' | 'postgres'
  readonly rows: number
  readonly isComplete: boolean
}
