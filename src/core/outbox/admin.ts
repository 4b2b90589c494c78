/** The queue of write-backs as people use it: what they put in, look up and decide. */
import type { OutboxDecision, WritebackStatus, StatusCounts } from './state.ts'
import type { Operation, WritebackRequest } from './writeback-request.ts'

/** Which write-backs are meant; all that is given must fit. */
export type OutboxFilter = {
  readonly ids?: readonly string[]
  readonly batch?: string
  readonly statuses?: readonly WritebackStatus[]
  readonly operations?: readonly Operation[]
  /** The conversation or the visitor that they are about. */
  readonly target?: string
  /** Of a cancellation: also those that name no project, where there is only one. */
  readonly orWithoutProject?: boolean
}

/** `ids`: a thousand of them at most. `following`: it holds, and the rows have yet to follow. */
export type DecisionResult = { readonly count: number; readonly ids: readonly string[]; readonly following?: true }

/** One write-back as it stands. Times are RFC 3339. */
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
  /** Why it is in this status. */
  readonly step: string | null
}

export type EventLogEntry = {
  readonly at: string
  readonly from: WritebackStatus | null
  readonly to: WritebackStatus
  readonly detail: string | null
  readonly requestId: string | null
}

/** `draft`: they wait for approval. */
export type EnqueueOptions = {
  readonly status: 'queued' | 'draft'
  readonly batchId: string | null
  readonly createdBy: string | null
  /** For those that name no expiry of their own. */
  readonly expiresAt: string | null
}

/** `known`: their refs were queued before. */
export type EnqueueResult = { readonly ids: readonly string[]; readonly queued: number; readonly known: number }

export type OutboxAdmin = {
  /**
   * All of them, or none: in one transaction. `digest` of the file that they come from: where one of the same bytes was
   * imported before, nothing is queued, and that import's name is given back.
   */
  readonly enqueue: (
    wishes: AsyncIterable<readonly WritebackRequest[]>,
    how: EnqueueOptions,
    digest?: string,
  ) => Promise<EnqueueResult | { readonly importedAs: string }>
  /** The name of the import of the same bytes; null: there was none. */
  readonly importedAs: (digest: string) => Promise<string | null>
  /** Those of these refs that would not be queued once more. */
  readonly findDuplicateRefs: (refs: readonly string[]) => Promise<ReadonlySet<string>>
  /** The id of that name, else some of those that begin with it. */
  readonly findIdsByPrefix: (beginning: string) => Promise<readonly string[]>
  /** In the order of the queue. */
  readonly list: (filter: OutboxFilter, limit: number, afterSeq?: number) => Promise<readonly OutboxEntry[]>
  /** The last ones of the queue, the newest first. */
  readonly listNewest: (filter: OutboxFilter, limit: number) => Promise<readonly OutboxEntry[]>
  readonly listEvents: (id: string) => Promise<readonly EventLogEntry[]>
  /** How many are in each state. */
  readonly countByStatus: (filter: OutboxFilter) => Promise<StatusCounts>
  /**
   * What moved. What cannot move from where it is stays. A cancellation of more than single ones holds from the moment that it
   * is recorded, before anything is counted: the rows may follow it later. What is on its way is noted, and not sent again;
   * it does not count as moved. Whoever decides `retried` has looked at the mirror as it is
   * now: what was seen before does not count any more, nor an expiry that has passed.
   */
  readonly decide: (decision: OutboxDecision, filter: OutboxFilter, by: string) => Promise<DecisionResult>
  /** Writing was switched off: what is on its way is looked for, and never sent again. What waits stays queued. */
  readonly revokeSending: (by: string) => Promise<void>
  /** Lanes whose first write-back is uncertain, and how many wait behind it. */
  readonly listBlockedLanes: () => Promise<readonly BlockedLane[]>
  /**
   * Rows that came by plain SQL without a project belong to this one, if the warehouse holds no other. How many did. One
   * whose ref was queued before is cancelled.
   */
  readonly assignProject: () => Promise<number>
}

export type BlockedLane = {
  readonly id: string
  readonly operation: Operation
  readonly target: string
  readonly waiting: number
}
