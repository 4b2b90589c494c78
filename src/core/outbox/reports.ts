/** What the commands of the queue of write-backs answer: the shapes behind `--json`, and behind the lines for people. */

import type { Ms } from '../time.ts'
import type { OutboxEntry, EventLogEntry } from './admin.ts'
import type { WritebackStatus, StatusCounts } from './state.ts'
import type { Operation } from './writeback-request.ts'

/** How things go on from here. */
export type SendEstimate = {
  /** Write-backs that were queued before and are not settled. */
  readonly ahead: number
  /** How long it takes to send these too, at the rate of writes less its margin. */
  readonly takesMs: Ms
  /** A worker runs: it sends what is queued. */
  readonly worker: boolean
}

export type AddWritebackReport = SendEstimate & {
  readonly project: string
  /** Null: its ref was queued before, and nothing is queued. */
  readonly id: string | null
  /** `draft`: it waits for approval. */
  readonly status: 'queued' | 'draft'
}

/** `why`: one reason a mistake, each beginning with the field that it is about. */
export type LineMistake = { readonly line: number; readonly why: readonly string[] }

export type ImportReport =
  | {
      readonly outcome: 'mistaken'
      readonly project: string
      readonly mistaken: number
      readonly mistakes: readonly LineMistake[]
    }
  /** The same bytes were imported before, under that name. */
  | { readonly outcome: 'imported before'; readonly project: string; readonly batch: string }
  | (SendEstimate & {
      readonly outcome: 'queued' | 'draft'
      readonly project: string
      /** Null: it was empty, or all refs were known. */
      readonly batch: string | null
      readonly queued: number
      /** Their refs were queued before. */
      readonly known: number
    })

/** What a line of an import would come to, as the record of the service is now. */
export type LinePreview = {
  readonly line: number
  readonly operation: Operation
  readonly target: string
  /** `nothing`: it is so already. `known`: its ref was queued before. `unknown`: it cannot be looked at. */
  readonly would: 'change' | 'send' | 'nothing' | 'known' | 'conflict' | 'fail' | 'unknown'
  readonly detail: string
  /** A line above that is about the same target, and goes first; null = there is none. */
  readonly after: number | null
}

export type PreviewReport =
  | Extract<ImportReport, { outcome: 'mistaken' | 'imported before' }>
  | (SendEstimate & {
      readonly outcome: 'looked'
      readonly project: string
      readonly lines: readonly LinePreview[]
      /** How many lines were not looked at. */
      readonly beyond: number
      /** The number of rows is over `approve_over`: they would wait for approval. */
      readonly draft: boolean
      readonly requests: number
    })

export type ListWritebacksReport = {
  readonly project: string
  readonly writebacks: readonly OutboxEntry[]
  /** How many there are in all that fit, by status. */
  readonly counts: StatusCounts
  /** In the warehouse are so many that name no project. Nobody sends them. */
  readonly nameless: number
}

export type ShowWritebackReport = {
  readonly project: string
  readonly writeback: OutboxEntry
  readonly events: readonly EventLogEntry[]
  /** The one that has to be settled before this one can go; null = none. */
  readonly waitsFor: { readonly id: string; readonly status: WritebackStatus } | null
  /** How many of the same conversation or visitor wait for this one. */
  readonly holds: number
}

/** `stayed`: what cannot move that way from where it is. */
export type DecisionReport = {
  readonly project: string
  readonly moved: number
  /** A thousand of those that moved, at most. */
  readonly ids: readonly string[]
  /** It holds already, and the rows in the database follow: whoever works on the queue next sees to it. */
  readonly following?: true
  readonly stayed: readonly {
    readonly id: string | null
    readonly status: WritebackStatus
    readonly count: number
    readonly why: string
  }[]
}
