/** What people do with the outbox (the queue of write-backs): enqueue, look up and decide. */

import type { Ms } from '../../values/time.ts'
import type { NewAuditEvent } from './audit-event.ts'
import type { BatchDescription, SelectionDigest } from './batches.ts'
import type { OutboxEntry } from './outbox-entry.ts'
import type { WritebackStatus } from './state.ts'
import type { Operation } from './writeback-request.ts'

/** Selects write-backs: a row must match every field that is given. */
export type OutboxFilter = {
  readonly ids?: readonly string[]
  readonly batch?: string
  readonly statuses?: readonly WritebackStatus[]
  readonly operations?: readonly Operation[]
  /** The id of the conversation or the visitor. */
  readonly target?: string
  /** Who approved it. */
  readonly approvedBy?: string
  /** What goes on if its stopped batch is resumed, so not the drafts that nobody has approved yet. */
  readonly isResumable?: true
  /** A cancellation also covers rows without a project. Only if a single project is configured. */
  readonly orWithoutProject?: boolean
}

/** `ids`: the first thousand. `following`: the decision is in force, but not all rows have been updated yet. */
export type DecisionResult = { readonly count: number; readonly ids: readonly string[]; readonly following?: true }

/** What a person was shown before an approval: these rows, as the digest (or its beginning) names them. */
export type ShownSelection = { readonly filter: OutboxFilter; readonly digest: string }

/** The digest names other rows than the selection has now; nothing was changed. */
export type SelectionMoved = { readonly moved: SelectionDigest }

/** `draft` needs approval before it is sent. */
export type EnqueueOptions = {
  readonly status: 'queued' | 'draft'
  readonly batchId: string | null
  readonly createdBy: string | null
  /** The default for requests without an expiry. */
  readonly expiresAt: string | null
  /** What is stored with the batch; without it, only its name and who queued it. */
  readonly batch?: BatchDescription
  /** Queues nothing if batches were queued since this was read by `readQueueMark`. */
  readonly unlessMovedSince?: string
  /** As of a decision. `known`: rows whose refs were queued before. */
  readonly audit?: (queued: number, known: number) => NewAuditEvent
}

/** What a decision carries beside its selection. */
export type DecisionTerms = {
  /** Who decides. */
  readonly by: string
  /** `approved`: the rows leave no earlier than this much later, and the approval can be taken back until then. */
  readonly graceMs?: Ms
  /** `approved`: whether a person may approve what the same person queued. */
  readonly approveOwn?: boolean
  /** What the audit log of the console says of it, in the same transaction; without it, only the event log does. */
  readonly audit?: AuditOf
}

/** `count`: how many rows changed. */
type AuditOf = (count: number) => NewAuditEvent

/** `known`: how many were skipped because their refs were queued before. */
export type EnqueueResult = { readonly ids: readonly string[]; readonly queued: number; readonly known: number }

/** `shown`: nothing is decided unless the digest still names its rows. */
export type BatchDecisionOptions = Pick<DecisionTerms, 'audit'> & { readonly shown?: ShownSelection }

export type BlockedLane = Pick<OutboxEntry, 'id' | 'operation'> & { readonly target: string; readonly waiting: number }
