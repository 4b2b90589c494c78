/** What the commands answer: the shapes behind `--json`, and behind the lines for people. Times are RFC 3339 text. */
import type { JobKind } from './job-failure.ts'
import type { StreamReport, SyncMode, SyncOutcome } from './mirror.ts'
import type { StatusCounts } from './outbox/state.ts'
import type { StreamName } from './row.ts'
import type { Ms } from './time.ts'

/** `sync`, one project. */
export type SyncReport = {
  readonly project: string
  readonly mode: SyncMode
  readonly outcome: SyncOutcome
  readonly tookMs: Ms
  readonly requests: number
  readonly rows: number
  readonly changed: number
  readonly streams: readonly StreamReport[]
  /** Open gaps of the project, whichever run found them. */
  readonly gaps: readonly GapReport[]
  /** Sentences that a person should know: what the service turned out not to show, what changed. */
  readonly notices: readonly string[]
}

export type GapReport = {
  readonly stream: StreamName
  readonly from: string | null
  readonly to: string | null
  readonly reason: string
  readonly foundAt: string
}

/** A job of the workers that fails, and has not succeeded since. */
export type FailureReport = {
  readonly job: JobKind
  /** The stream and the mode of a pass, the lane of write-backs, the schedule; else empty. */
  readonly subject: string
  readonly since: string
  readonly lastAt: string
  readonly failures: number
  readonly reason: string
}

/** Where a running sync is, sent about as often as a page is stored. */
export type SyncProgress = {
  readonly stream: StreamName
  readonly state: 'running' | 'done' | 'skipped' | 'failed'
  readonly rows: number
  readonly changed: number
  readonly requests: number
  /** Requests still to make, as far as it is known; null = unknown (a list whose length nobody has said). */
  readonly left: number | null
}

/** What the budget allows just now, for progress and status. */
export type BudgetView = {
  readonly limit: number
  readonly windowMs: Ms
  /** Slots that may be used at the same time; shrinks after a 429 and grows back. */
  readonly slots: number
  readonly inUse: number
  /** Until when the whole key rests after a 429, by this machine's clock; null = it does not. */
  readonly pausedForMs: Ms | null
  /** How long nothing is sent because the record of what was sent may have been lost; null = it is open. */
  readonly closedForMs: Ms | null
  readonly throttled: number
}

/** `status`, one project. Reads only the warehouse. */
export type StatusReport = {
  readonly project: string
  readonly streams: readonly {
    readonly stream: StreamName
    readonly rows: number
    readonly deleted: number
    /** When the stream last came to its end without failure; null = never. */
    readonly syncedAt: string | null
    /** The newest moment that a mirrored row speaks of. */
    readonly newest: string | null
    /** Rows that are dated ahead of the clocks, counted to 10,000. */
    readonly ahead: number
    /** Parents whose children are still to be read. */
    readonly due: number
    readonly skipped: string | null
    readonly failed: string | null
    /** When the first of the failures in a row was; null = it does not fail. */
    readonly failedSince: string | null
  }[]
  /** What else fails in the workers: of this project, and of all together. */
  readonly failures: readonly FailureReport[]
  readonly lastRun: {
    readonly id: string
    readonly mode: SyncMode
    readonly startedAt: string
    readonly finishedAt: string | null
    readonly outcome: SyncOutcome | null
    readonly requests: number
  } | null
  /** By how many seconds the service's clock was ahead of this machine's when it was last heard; null = never heard. */
  readonly clockOffset: number | null
  /** Who syncs right now, if anybody does. */
  readonly running: { readonly holder: string; readonly since: string } | null
  /** The workers that live. `queue`: redis, postgres or embedded. `heardAt`: the last sign of life that it could write. */
  readonly workers: readonly {
    readonly holder: string
    readonly queue: string
    readonly since: string
    readonly heardAt: string
  }[]
  /** The worker asks nothing for this project until then: the service denied its key. */
  readonly paused: { readonly until: string; readonly why: string } | null
  readonly gaps: readonly GapReport[]
  readonly writebacks: Readonly<Record<string, number>>
  /** Write-backs in the warehouse that name no project: those of plain SQL. */
  readonly nameless: number
  /** Lanes that rest behind an uncertain write-back, which a person has to resolve. */
  readonly heldLanes: number
  readonly behaviours: readonly {
    readonly name: string
    readonly value: string
    readonly evidence: string
    readonly learnedAt: string
  }[]
  /** Requests of runs, pushes, dry runs and workers in the last window, and how long the due work takes at the configured rate. */
  readonly budget: {
    readonly usedInWindow: number
    readonly limit: number
    readonly windowMs: Ms
    readonly forecastMs: Ms
    /** When the record of what was spent was last lost, and nothing was sent until it did not matter any more. */
    readonly lost: { readonly at: string; readonly why: string } | null
  }
}

/** `push`, one project. */
export type PushReport = {
  readonly project: string
  /** Write-backs that this process settled, by what they became. */
  readonly settled: StatusCounts
  /** All of the queue, by state, at the end. */
  readonly queue: StatusCounts
  readonly tookMs: Ms
  readonly requests: number
  readonly outcome: 'done' | 'held' | 'interrupted'
  /** Why some were left: the breaker, or a scope that the key lacks. Sentences for a person. */
  readonly notices: readonly string[]
  /** Lanes that rest behind an uncertain write-back, which a person has to resolve. */
  readonly heldLanes: number
}

/** Where a running push is. */
export type PushProgress = {
  readonly settled: number
  readonly left: number
  /** Being worked on just now. */
  readonly working: number
}

/**
 * One question of `check`, and its answer. A warning says that a sync works all the same (without some streams, if
 * it is about a scope). `hint` says what to do where it is not ok; `retryable` that an error may pass by itself.
 */
export type CheckItem = {
  readonly name: string
  readonly state: 'ok' | 'warning' | 'error'
  readonly detail: string
  readonly hint: string | null
  readonly retryable?: boolean
}

/** `verify`, one project: what differs between the mirror and the service. */
export type VerifyReport = {
  readonly project: string
  readonly streams: readonly {
    readonly stream: StreamName
    readonly compared: number
    readonly differing: number
    /** The missing scope that kept the stream from being compared; null = it was. */
    readonly skipped: string | null
  }[]
  readonly differences: readonly Difference[]
  readonly requests: number
  /** True: more was found than `differences` lists. */
  readonly truncated: boolean
}

export type Difference = {
  readonly stream: StreamName
  /** The row's key, its parts joined by a slash. */
  readonly key: string
  readonly kind: 'missing here' | 'gone there' | 'different'
  /** The top-level fields that differ; empty where the whole row is missing. */
  readonly fields: readonly string[]
}
