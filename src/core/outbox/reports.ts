/** What the `writeback` commands return: the data behind `--json` and behind the text output. */

import type { Ms } from '../time.ts'
import type { EventLogEntry, OutboxEntry } from './admin.ts'
import type { StatusCounts, WritebackStatus } from './state.ts'
import type { Operation } from './writeback-request.ts'

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
  readonly project: string
  /** Null if its ref was queued before; then nothing was queued. */
  readonly id: string | null
  /** `draft` needs approval. */
  readonly status: 'queued' | 'draft'
}

/** `why`: one reason per mistake, each starting with the field name. */
export type LineMistake = { readonly line: number; readonly why: readonly string[] }

export type RejectedImport =
  | {
      readonly outcome: 'mistaken'
      readonly project: string
      readonly mistaken: number
      readonly mistakes: readonly LineMistake[]
    }
  /** The same bytes were imported before as `batch`. */
  | { readonly outcome: 'imported before'; readonly project: string; readonly batch: string }

export type QueuedImport = {
  readonly outcome: 'queued' | 'draft'
  readonly project: string
  /** Null if the file was empty or all refs were queued before. */
  readonly batch: string | null
  readonly queued: number
  /** How many were skipped because their refs were queued before. */
  readonly known: number
}

export type ImportReport = RejectedImport | (QueuedImport & SendEstimate)

/** What a line of an import would do to the service's current record. */
export type LinePreview = {
  readonly line: number
  readonly operation: Operation
  readonly target: string
  /** `nothing`: already so. `known`: its ref was queued before. `unknown`: the record cannot be read. */
  readonly would: 'change' | 'send' | 'nothing' | 'known' | 'conflict' | 'fail' | 'unknown'
  readonly detail: string
  /** The last earlier line with the same target, which is sent first; null if there is none. */
  readonly after: number | null
}

export type PreviewReport =
  | RejectedImport
  | (SendEstimate & {
      readonly outcome: 'looked'
      readonly project: string
      readonly lines: readonly LinePreview[]
      /** How many lines were not checked against the service. */
      readonly beyond: number
      /** The file has more rows than `approve_over`, so they would need approval. */
      readonly draft: boolean
      readonly requests: number
    })

export type ListWritebacksReport = {
  readonly project: string
  readonly writebacks: readonly OutboxEntry[]
  /** All matching write-backs, by status. */
  readonly counts: StatusCounts
  /** Rows in the warehouse without a project, which are never sent. */
  readonly nameless: number
}

export type ShowWritebackReport = {
  readonly project: string
  readonly writeback: OutboxEntry
  readonly events: readonly EventLogEntry[]
  /** The write-back that must be settled before this one can be sent; null if none. */
  readonly waitsFor: { readonly id: string; readonly status: WritebackStatus } | null
  /** How many write-backs of the same target wait for this one. */
  readonly holds: number
}

/** `stayed`: rows whose status does not allow the decision. */
export type DecisionReport = {
  readonly project: string
  readonly moved: number
  /** The first thousand that moved. */
  readonly ids: readonly string[]
  /** The decision is in force, but not all rows are updated; the next worker or push does that. */
  readonly following?: true
  readonly stayed: readonly {
    readonly id: string | null
    readonly status: WritebackStatus
    readonly count: number
    readonly why: string
  }[]
}
