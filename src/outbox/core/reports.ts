/** What the `writeback` commands return: the data behind `--json` and behind the text output. */

import type { ProjectName } from '../../values/project.ts'
import type { Ms } from '../../values/time.ts'
import type { ReasonGroup } from './group-reasons.ts'
import type { EventLogEntry, NamedEntry } from './outbox-entry.ts'
import type { MistakeKind } from './request-mistake.ts'
import type { ReadCheck, ReviewSummary } from './review-summary.ts'
import type { StatusCounts, WritebackStatus } from './state.ts'

/** How long sending will take. */
export type SendEstimate = {
  /** Write-backs queued earlier that are not settled yet. */
  readonly ahead: number
  /** Time to send everything, including these, at the write rate less its reserve. */
  readonly takesMs: Ms
  /** Whether a worker is running, which sends what is queued. */
  readonly worker: boolean
}

export type AddWritebackReport = SendEstimate & {
  readonly project: ProjectName
  /** Null if its ref was queued before; then nothing was queued. */
  readonly id: string | null
  /** `draft` needs approval. */
  readonly status: 'queued' | 'draft'
}

export type LineMistake = {
  /** The first line of the row, as an editor counts. */
  readonly line: number
  /** As a spreadsheet counts. */
  readonly row: number
  readonly ref: string | null
  /** One reason per mistake, each starting with the field name. */
  readonly why: readonly string[]
}

export type RejectedImport =
  | {
      readonly outcome: 'mistaken'
      readonly project: ProjectName
      /** All rows of the file, but for the header and blank ones; none if the header has mistakes. */
      readonly rows: number
      /** How many of them have mistakes. */
      readonly mistaken: number
      readonly kinds: readonly MistakeKind[]
      /** The first hundred, in file order. */
      readonly mistakes: readonly LineMistake[]
      /** The file that has these rows with their mistakes; null if none was asked for, or there are no such rows. */
      readonly mistakesFile: string | null
    }
  /** The same bytes were imported before as `batch`. */
  | { readonly outcome: 'imported before'; readonly project: ProjectName; readonly batch: string }

export type QueuedImport = {
  readonly outcome: 'queued' | 'draft'
  readonly project: ProjectName
  /** Null if the file was empty or all refs were queued before. */
  readonly batch: string | null
  readonly queued: number
  /** How many were skipped because their refs were queued before. */
  readonly known: number
  /** How many of these differ from what was queued with the same ref. */
  readonly differing: number
  /** The batch of what was queued; null if there are several or none. */
  readonly differingBatch: string | null
  /** What a person should know about rows without mistakes. */
  readonly notices: readonly MistakeKind[]
  /** The columns that were let through. */
  readonly ignoredColumns: readonly string[]
  /** Rows of a sheet without a reply and a flag: they are still to be written. */
  readonly emptyRows: number
  /** What a person said that a column means, now or for an earlier file; `ignored` = nothing. */
  readonly columns: Readonly<Record<string, string>>
}

export type ImportReport = RejectedImport | (QueuedImport & SendEstimate)

export type PreviewReport =
  | RejectedImport
  | (SendEstimate & {
      readonly outcome: 'reviewed'
      readonly project: ProjectName
      readonly review: ReviewSummary
      /** They would need approval. */
      readonly draft: boolean
      readonly notices: readonly MistakeKind[]
      readonly emptyRows: number
      readonly columns: Readonly<Record<string, string>>
      /** To the service, for a check. */
      readonly requests: number
    })

export type ListWritebacksReport = {
  readonly project: ProjectName
  readonly writebacks: readonly NamedEntry[]
  /** All matching write-backs, by status. */
  readonly counts: StatusCounts
  /** Rows in the warehouse without a project, which are never sent. */
  readonly nameless: number
}

export type ShowWritebackReport = {
  readonly project: ProjectName
  readonly writeback: NamedEntry
  readonly events: readonly EventLogEntry[]
  /** The last check with the service; null if there was none. */
  readonly check: ReadCheck | null
  /** The write-back that must be settled before this one can be sent; null if none. */
  readonly waitsFor: { readonly id: string; readonly status: WritebackStatus } | null
  /** How many write-backs of the same target wait for this one. */
  readonly holds: number
}

/** `stayed`: rows whose status does not allow the decision. */
export type DecisionReport = {
  readonly project: ProjectName
  readonly moved: number
  /** The first thousand that moved. */
  readonly ids: readonly string[]
  /** The decision is in force, but not all rows are updated; the next worker or push does that. */
  readonly following?: true
  /** What is wrong around it: the clock of this machine. */
  readonly notices?: readonly string[]
  /** Of an approval: when its grace ends. RFC 3339. */
  readonly undoUntil?: string
  readonly stayed: readonly {
    readonly id: string | null
    readonly status: WritebackStatus
    readonly count: number
    readonly why: string
  }[]
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
