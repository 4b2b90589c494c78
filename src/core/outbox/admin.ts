/** What people do with the outbox (the queue of write-backs): enqueue, look up and decide. */
import type { NewAuditEvent } from '../console/data.ts'
import type { Ms } from '../time.ts'
import type { Rest } from './batch-estimate.ts'
import type { Batch, BatchDescription, BatchSummary, NamedSelection, SelectionDigest } from './batches.ts'
import type { BatchDecision, OutboxDecision } from './decisions.ts'
import type { ReasonGroup } from './group-reasons.ts'
import type { EventLogEntry, OutboxEntry } from './outbox-entry.ts'
import type { StatusCounts, WritebackStatus } from './state.ts'
import type { Operation, WritebackRequest } from './writeback-request.ts'

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
export type AuditOf = (count: number) => NewAuditEvent

/** `known`: how many were skipped because their refs were queued before. */
export type EnqueueResult = { readonly ids: readonly string[]; readonly queued: number; readonly known: number }

/** `shown`: nothing is decided unless the digest still names its rows. */
export type BatchDecisionOptions = Pick<DecisionTerms, 'audit'> & { readonly shown?: ShownSelection }

export type OutboxAdmin = {
  /**
   * Queues all requests in one transaction, or none. `digest` identifies the imported file: if the same bytes were
   * imported before, nothing is queued and the name of that import is returned.
   */
  readonly enqueue: (
    requests: AsyncIterable<readonly WritebackRequest[]> | readonly (readonly WritebackRequest[])[],
    options: EnqueueOptions,
    digest?: string,
  ) => Promise<EnqueueResult | { readonly importedAs: string } | { readonly overtaken: true }>
  /** Differs as soon as another batch was queued. */
  readonly readQueueMark: () => Promise<string>
  /** The name of the earlier import of the same bytes; null if there is none. */
  readonly importedAs: (digest: string) => Promise<string | null>
  /** The refs that are already queued and would be skipped. */
  readonly findDuplicateRefs: (refs: readonly string[]) => Promise<ReadonlySet<string>>
  /** The exact id if it exists, else up to three ids that begin or end with this. */
  readonly findIds: (part: string) => Promise<readonly string[]>
  /** In queue order. */
  readonly list: (filter: OutboxFilter, limit: number, afterSeq?: number) => Promise<readonly OutboxEntry[]>
  /** Newest first. */
  readonly listNewest: (filter: OutboxFilter, limit: number) => Promise<readonly OutboxEntry[]>
  readonly listEvents: (id: string) => Promise<readonly EventLogEntry[]>
  readonly countByStatus: (filter: OutboxFilter) => Promise<StatusCounts>
  /**
   * Applies a decision and returns the rows whose status changed. Rows that do not allow the transition stay as they
   * are. A cancellation by batch or of everything takes effect when it is recorded; rows may be updated later. A row
   * in flight is marked so that it is not sent again, and does not count as changed. `retried` takes the current mirror
   * as what the person saw: it resets the precondition and drops an expiry that has passed.
   */
  readonly decide: (decision: OutboxDecision, filter: OutboxFilter, terms: DecisionTerms) => Promise<DecisionResult>
  /** Decides about the rows of the filter if the digest still names the rows that were shown, else about none. */
  readonly decideShown: (
    decision: OutboxDecision,
    filter: OutboxFilter,
    shown: ShownSelection,
    terms: DecisionTerms,
  ) => Promise<DecisionResult | SelectionMoved>
  /** The first `limit` rows of the filter, and what names all of them as they are. */
  readonly readSelection: (filter: OutboxFilter, limit: number) => Promise<NamedSelection>
  readonly digestOf: (filter: OutboxFilter) => Promise<SelectionDigest>
  /** The latest events of the rows, newest first. */
  readonly listLatestEvents: (
    filter: OutboxFilter,
    limit: number,
  ) => Promise<readonly (EventLogEntry & { readonly writebackId: string })[]>
  /** Newest first. `before`: only batches that were created before this one. */
  readonly listBatches: (limit: number, before?: Pick<Batch, 'id' | 'createdAt'>) => Promise<readonly BatchSummary[]>
  readonly findBatch: (id: string) => Promise<BatchSummary | null>
  /** Newest first. */
  readonly listStoppedBatches: (limit: number) => Promise<readonly BatchSummary[]>
  /** The names of all batches, newest first, to suggest what is near a name. */
  readonly listBatchNames: (limit: number) => Promise<readonly string[]>
  /** The name of the newest batch that takes this one back; null if none does. */
  readonly findRevertOf: (id: string) => Promise<string | null>
  /** Its flags and corrections that arrived after it was last taken back. */
  readonly countRevertible: (id: string) => Promise<number>
  /** Open write-backs of others that were queued before the batch's first open one. */
  readonly countAhead: (batch: string) => Promise<number>
  /** Until when nothing of the batch leaves, because each of its queued rows waits; null if one does not. */
  readonly findRest: (batch: string) => Promise<Rest | null>
  readonly groupReasons: (filter: OutboxFilter) => Promise<readonly ReasonGroup[]>
  readonly countByOperation: (
    filter: OutboxFilter,
  ) => Promise<readonly { readonly operation: Operation; readonly status: WritebackStatus; readonly count: number }[]>
  /** In force when it returns, at any size; rows follow. Null if it is so already or there is no such batch. */
  readonly decideBatch: (
    decision: BatchDecision,
    batch: string,
    by: string,
    options?: BatchDecisionOptions,
  ) => Promise<{ readonly moved: number; readonly inFlight: number; readonly following?: true } | SelectionMoved | null>
  /** Used when writing is switched off: write-backs in flight are verified but never sent again. Queued ones stay queued. */
  readonly revokeSending: (by: string) => Promise<void>
  /** Lanes blocked by an uncertain write-back, and how many write-backs wait behind it. */
  readonly listBlockedLanes: () => Promise<readonly BlockedLane[]>
  /**
   * Assigns rows that were inserted by SQL without a project to this project, if the warehouse holds no other. Returns
   * how many. A row whose ref was queued before is cancelled.
   */
  readonly assignProject: () => Promise<number>
}

export type BlockedLane = Pick<OutboxEntry, 'id' | 'operation'> & { readonly target: string; readonly waiting: number }
