/** What a decision selects, carries beside it, and leaves in the audit log. */
import type { ProjectId } from '../../values/project.ts'
import type { Ms } from '../../values/time.ts'
import type { Operation } from './operations.ts'
import type { WritebackStatus } from './state.ts'

/** Selects write-backs: a row must match every field that is given. */
export type OutboxFilter = {
  readonly ids?: readonly string[] | undefined
  readonly batch?: string | undefined
  readonly statuses?: readonly WritebackStatus[] | undefined
  readonly operations?: readonly Operation[] | undefined
  /** The id of the conversation or the visitor. */
  readonly target?: string | undefined
  /** Who approved it. */
  readonly approvedBy?: string
  /** What goes on if its stopped batch is resumed, so not the drafts that nobody has approved yet. */
  readonly isResumable?: true
  /** A cancellation also covers rows without a project. Only if a single project is configured. */
  readonly orWithoutProject?: boolean
}

/** What a person was shown before an approval: these rows, as the digest (or its beginning) names them. */
type ShownSelection = { readonly filter: OutboxFilter; readonly digest: string }

/** What a decision carries beside its selection. */
export type DecisionTerms = {
  /** Who decides. */
  readonly by: string
  /** `approved`: the rows leave no earlier than this much later, and the approval can be taken back until then. */
  readonly graceMs?: Ms
  /** `approved`: whether a person may approve what the same person queued. */
  readonly approveOwn?: boolean
  /** What was shown; if the digest names other rows now, nothing is decided. */
  readonly shown?: ShownSelection
  /** What the audit log of the console says of it, in the same transaction; without it, only the event log does. */
  readonly audit?: (count: number) => NewAuditEvent
}

export type AuditEvent = {
  readonly id: string
  readonly at: string
  /** Empty: it concerns none. */
  readonly project: ProjectId
  readonly person: string
  readonly role: string
  readonly action: string
  readonly subject: string | null
  readonly count: number | null
  readonly detail: string | null
}

/** Its id and time are those of the moment when it is stored. */
export type NewAuditEvent = Omit<AuditEvent, 'id' | 'at'>
