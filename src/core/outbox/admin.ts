/** What people do with the outbox (the queue of write-backs): enqueue, look up and decide. */
import type { OutboxDecision, StatusCounts, WritebackStatus } from './state.ts'
import type { Operation, WritebackRequest } from './writeback-request.ts'

/** Selects write-backs: a row must match every field that is given. */
export type OutboxFilter = {
  readonly ids?: readonly string[]
  readonly batch?: string
  readonly statuses?: readonly WritebackStatus[]
  readonly operations?: readonly Operation[]
  /** The id of the conversation or the visitor. */
  readonly target?: string
  /** A cancellation also covers rows without a project. Only if a single project is configured. */
  readonly orWithoutProject?: boolean
}

/** `ids`: the first thousand. `following`: the decision is in force, but not all rows have been updated yet. */
export type DecisionResult = { readonly count: number; readonly ids: readonly string[]; readonly following?: true }

/** A write-back as stored. Times are RFC 3339. */
export type OutboxEntry = {
  readonly id: string
  readonly seq: number
  readonly operation: Operation
  readonly conversationId: string | null
  readonly visitorId: string | null
  readonly payload: Readonly<Record<string, unknown>>
  readonly status: WritebackStatus
  readonly attempts: number
  readonly batchId: string | null
  readonly ref: string | null
  readonly expect: string | null
  readonly expiresAt: string | null
  readonly createdAt: string
  readonly createdBy: string | null
  readonly sentAt: string | null
  readonly finishedAt: string | null
  readonly requestId: string | null
  readonly messageId: string | null
  readonly error: string | null
  /** Why it has this status. */
  readonly step: string | null
}

export type EventLogEntry = {
  readonly at: string
  readonly from: WritebackStatus | null
  readonly to: WritebackStatus
  readonly detail: string | null
  readonly requestId: string | null
}

/** `draft` needs approval before it is sent. */
export type EnqueueOptions = {
  readonly status: 'queued' | 'draft'
  readonly batchId: string | null
  readonly createdBy: string | null
  /** The default for requests without an expiry. */
  readonly expiresAt: string | null
}

/** `known`: how many were skipped because their refs were queued before. */
export type EnqueueResult = { readonly ids: readonly string[]; readonly queued: number; readonly known: number }

export type OutboxAdmin = {
  /**
   * Queues all requests in one transaction, or none. `digest` identifies the imported file: if the same bytes were
   * imported before, nothing is queued and the name of that import is returned.
   */
  readonly enqueue: (
    requests: AsyncIterable<readonly WritebackRequest[]> | readonly (readonly WritebackRequest[])[],
    options: EnqueueOptions,
    digest?: string,
  ) => Promise<EnqueueResult | { readonly importedAs: string }>
  /** The name of the earlier import of the same bytes; null if there is none. */
  readonly importedAs: (digest: string) => Promise<string | null>
  /** The refs that are already queued and would be skipped. */
  readonly findDuplicateRefs: (refs: readonly string[]) => Promise<ReadonlySet<string>>
  /** The exact id if it exists, else up to three ids with this prefix. */
  readonly findIdsByPrefix: (prefix: string) => Promise<readonly string[]>
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
  readonly decide: (decision: OutboxDecision, filter: OutboxFilter, by: string) => Promise<DecisionResult>
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
