/** What is said of each decision. */
import type { Role } from '../../config/people.ts'
import type { BatchReport } from './batches.ts'
import type { NamedEntry } from './outbox-entry.ts'
import type { OutboxEvent, StatusCounts, WritebackStatus } from './state.ts'

/** `undoUntil`: RFC 3339; null = no approval can be taken back. */
type BatchFacts = Pick<BatchReport, 'approval' | 'revertible'> & {
  readonly counts: StatusCounts
  readonly isStopped: boolean
  readonly undoUntil: string | null
}
/** Of all sending of the project. */
export type SendingFacts = { readonly isStopped: boolean; readonly isCircuitOpen: boolean }
type WritebackFacts = Pick<NamedEntry, 'stoppedBy'> & { readonly undoUntil: string | null }

export type DecisionRecord = {
  /** Of the state machine; null if it changes no row itself. */
  readonly event: OutboxEvent | null
  /** Write-backs that are picked, a whole batch, or all sending of the project. */
  readonly about: 'writebacks' | 'batch' | 'project'
  /** The statuses of the rows that it changes, and the one that these get. */
  readonly from: readonly WritebackStatus[]
  readonly to: WritebackStatus
  /** Of a whole batch, if these are fewer: on a page, which shows the rows first, and without one. */
  readonly fromInBatch?: { readonly shown: readonly WritebackStatus[]; readonly unseen: readonly WritebackStatus[] }
  /** Rows that still have this status afterwards, although they were selected, are worth an exit code. */
  readonly unexpectedlyLeft?: WritebackStatus
  /** As it is now; without a rule, it is not offered. */
  readonly isOfferedForBatch?: (facts: BatchFacts) => boolean
  readonly isOfferedForSending?: (facts: SendingFacts) => boolean
  /** Beside its status. */
  readonly isOfferedForWriteback?: (facts: WritebackFacts) => boolean
  /** What customers see, or what stops it, needs an approver. Failures and uncertain outcomes are an operator's work. */
  readonly role: Role
  /** The role if it changes only one's own rows in this status. */
  readonly roleForOwn?: { readonly status: WritebackStatus; readonly role: Role }
  /** The role if it changes rows in one of these statuses. */
  readonly roleForStatuses?: { readonly statuses: readonly WritebackStatus[]; readonly role: Role }
  /** `confirmed`: a page lists the rows first. Both, unlike `anyway`, change nothing if what was shown has changed. */
  readonly taken: 'confirmed' | 'as shown' | 'anyway'
  /** People come for it; the others stand beside it. */
  readonly isUsual?: true
  /** On a button; those that ask for confirmation end with dots. */
  readonly label: string
  /** Before the number of write-backs. */
  readonly title: string
  /** After the number of write-backs, in a command's output and on a page. */
  readonly made: string
  /** Stored in the event log, before ` by NAME`. */
  readonly logged: string
  /** Stored in the audit log. */
  readonly audited: string
  /** What follows, on the page before it. */
  readonly consequence?: string
  /** How a command selects rows. */
  readonly selection?: string
}
