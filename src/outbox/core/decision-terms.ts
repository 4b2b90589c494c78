/** What is said of each decision, what it selects and carries, and what it reports. */
import type { NewAuditEvent } from '../../../schema/row.ts'
import type { Role } from '../../config/people.ts'
import { foldName } from '../../values/person-name.ts'
import type { ProjectName } from '../../values/project.ts'
import type { Ms } from '../../values/time.ts'
import type { Operation } from './operations.ts'
import type { EventOfRow, OutboxEntry } from './outbox-entry.ts'
import type { OutboxEvent, StatusCounts, WritebackStatus } from './state.ts'

/** Of all sending of the project. */
export type SendingFacts = { readonly isStopped: boolean; readonly isCircuitOpen: boolean }

export type DecisionRecord = {
  /** Of the state machine; null if it changes no row itself. */
  readonly event: OutboxEvent | null
  /** Write-backs that are picked, a whole batch, or all sending of the project. */
  readonly about: 'writebacks' | 'batch' | 'project'
  /** The statuses of the rows that it changes, and the one that these get. */
  readonly from: readonly WritebackStatus[]
  readonly to: WritebackStatus
  /** Of a whole batch, if these are fewer: on a page that shows the rows first, and without one. */
  readonly fromInBatch?: {
    readonly shown: readonly WritebackStatus[]
    readonly unseen: readonly WritebackStatus[]
  }
  /** Selected rows that keep this status are worth an exit code. */
  readonly unexpectedlyLeft?: WritebackStatus
  /**
   * As it is now; without a rule, it is not offered. `undoUntil`: RFC 3339; null = no approval can
   * be undone.
   */
  readonly isOfferedForBatch?: (facts: {
    readonly revertible: number
    readonly counts: StatusCounts
    readonly isStopped: boolean
    readonly undoUntil: string | null
  }) => boolean
  readonly isOfferedForSending?: (facts: SendingFacts) => boolean
  /** Beside its status. */
  readonly isOfferedForWriteback?: (facts: Pick<OutboxEntry, 'stoppedBy' | 'undoUntil'>) => boolean
  /** What customers see, or what stops it, needs an approver; failures are an operator's work. */
  readonly role: Role
  /** If it changes only one's own rows in this status. */
  readonly roleForOwn?: { readonly status: WritebackStatus; readonly role: Role }
  /** If it changes rows in one of these statuses. */
  readonly roleForStatuses?: { readonly statuses: readonly WritebackStatus[]; readonly role: Role }
  /** If an earlier send may have arrived: it may reach a customer twice. */
  readonly roleIfMayHaveArrived?: Role
  /**
   * `confirmed`: a page lists the rows first. Both, unlike `anyway`, stop if these have changed.
   */
  readonly taken: 'confirmed' | 'as shown' | 'anyway'
  /** People come for it; the others stand beside it. */
  readonly isUsual?: true
  /** It ends or holds what was asked for. */
  readonly isStopping?: true
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

/** Selects write-backs: a row must match every field that is given. */
export type OutboxFilter = {
  readonly ids?: readonly string[] | undefined
  readonly batch?: string | undefined
  readonly statuses?: readonly WritebackStatus[] | undefined
  readonly operations?: readonly Operation[] | undefined
  /** The id of the conversation or the visitor, or several. */
  readonly target?: string | readonly string[] | undefined
  /** One of these names, as stored. A decision is about all spellings of a person's name. */
  readonly approvedBy?: readonly string[]
  /** What goes on if its batch is resumed: not the drafts that nobody has approved yet. */
  readonly isResumable?: true
  /** A cancellation also covers rows without a project. Only if a single project is configured. */
  readonly orWithoutProject?: boolean
}

/** What a decision carries beside its selection. */
export type DecisionTerms = {
  readonly by: string
  /** `approved`: the rows leave so much later, and the approval can be undone until then. */
  readonly graceMs?: Ms
  /** `approved`: whether a person may approve what the same person queued. */
  readonly approveOwn?: boolean
  /** What was shown; if the digest (or its beginning) names other rows now, nothing is decided. */
  readonly shown?: { readonly filter: OutboxFilter; readonly digest: string }
  /** Recorded in the audit log of the console, in the same transaction. */
  readonly audit?: (count: number) => NewAuditEvent
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

/** SHA-256 over all that decides what leaves, in the order of the queue. */
export type SelectionDigest = { readonly digest: string; readonly count: number }

/** An approval whose digest does not match: what the selection is now, and its latest steps. */
export type SelectionMismatch = {
  readonly outcome: 'moved'
  readonly project: ProjectName
  readonly now: SelectionDigest
  /** Of all rows of the selection. */
  readonly counts: StatusCounts
  /** The latest steps of its rows, newest first. */
  readonly steps: readonly EventOfRow[]
}

/** `moved`: changed their status at once or will; `left`: cannot be called back. */
export type BatchDecisionReport = Pick<DecisionReport, 'project' | 'following' | 'notices'> & {
  readonly batch: string
  readonly decision: 'stopped' | 'resumed'
  readonly moved: number
  readonly inFlight: number
}

/** `NAME via X`: another user of the database, or an assistant, queued it for NAME. */
export function isQueuedBy(createdBy: string | null, person: string): boolean {
  const author = foldName(createdBy ?? '')
  const name = foldName(person)
  return author === name || author.startsWith(`${name} via `)
}
