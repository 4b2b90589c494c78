/**
 * The queue of write-backs as whoever carries it out sees it: what may be asked of the warehouse, and what is told to it.
 * Everything told is durable before the answer comes back.
 */

import type { ServiceBehaviour } from '../row.ts'
import type { EpochMs } from '../time.ts'
import type { OutboxEvent, Revocation, WritebackStatus } from './state.ts'
import type { Operation } from './writeback-request.ts'

/** One write-back that this process has claimed. */
export type Writeback = {
  readonly id: string
  readonly lane: string
  readonly operation: Operation
  /** A conversation's or a visitor's id. */
  readonly target: string
  /** The row laid flat, as one line of an import would say it; not checked. */
  readonly rawRequest: unknown
  readonly status: WritebackStatus
  /** Decided while it was on its way: it is not sent again, and becomes this if it did not arrive. */
  readonly revokedAs: Revocation | null
  /** How often it was sent; the last time is this number. */
  readonly attempts: number
  readonly batchId: string | null
  /** RFC 3339, by the database's clock. */
  readonly createdAt: string
  readonly expiresAt: string | null
  /** What the mirror showed of the target when it was queued; null = it did not know it. */
  readonly targetSnapshot: TargetSnapshot | null
  readonly evidence: Evidence
  /** The number of this claim. */
  readonly epoch: number
}

export type TargetSnapshot = {
  /** RFC 3339. */
  readonly last_message_at?: string | null
  readonly name?: string | null
  readonly email?: string | null
}

/** What is known about a sending, for whoever has to find out what became of it; plain JSON. */
export type Evidence = {
  /** What was there just before it left. */
  readonly before?: {
    /** Of all messages of the conversation; absent where they could not all be read. */
    readonly ids?: readonly string[]
    /** A digest of what they said; absent where an earlier version noted them. */
    readonly digest?: string
    /** As earlier versions wrote it: `ids` are those from this second on, and not all. */
    readonly since?: string
    readonly handledAt?: string | null
    readonly name?: string | null
    readonly email?: string | null
  }
  /**
   * The process that sent it has told that the exchange is over (`ended`), is dead, or lives perhaps and says nothing:
   * then it may still send.
   */
  readonly sender?: 'ended' | 'dead' | 'silent'
  /** What the answer said and did not prove: that it will be done, or that it was not, in these words. */
  readonly claim?: { readonly says: 'accepted' | 'refused'; readonly why: string }
  /** How often it was looked for without being there. */
  readonly looks?: number
  /** Tries in a row that came to nothing before anything left. */
  readonly tries?: number
  /** Names of the note's field that were refused. */
  readonly refusedFields?: readonly string[]
  /** What the service said to the first of them. */
  readonly firstRefusal?: string
  /** The HTTP status of the answer. */
  readonly status?: number
  /** How it was found to have arrived. */
  readonly found?: string
}

/** Something that happened to a write-back. */
export type Transition = {
  readonly event: OutboxEvent
  /** For a person. */
  readonly why: string
  readonly requestId?: string | null
  /** Added to what is known. */
  readonly evidence?: Evidence
  /** Not to be worked on before. */
  readonly dueAt?: EpochMs
  /** The message that it has become. */
  readonly messageId?: string
  readonly observedBehaviours?: readonly ServiceBehaviour[]
}

export type OutboxRepository = {
  /** The lanes whose first write-back can be worked on now, oldest first, by the write-back's id. */
  readonly findClaimable: (now: EpochMs, limit: number, of?: ClaimFilter) => Promise<readonly ClaimableWriteback[]>
  /** Whether anything is left to do, now or later, that no person has to decide first. */
  readonly hasPending: (of?: ClaimFilter) => Promise<boolean>
  /** Takes it for this process; null: somebody else has it, or it is not first in its lane any more. */
  readonly claim: (id: string, now: EpochMs) => Promise<Writeback | null>
  /** Writes down that it leaves, before it does; false: it must not, any more. `dueAt`: when to look for it, if nobody tells its end. */
  readonly markSending: (one: Writeback, evidence: Evidence, now: EpochMs, dueAt: EpochMs) => Promise<boolean>
  /** What became of the request that `leave` was told of: what it is now; null: a later sending, or a person, has decided. */
  readonly settleSent: (one: Writeback, step: Transition) => Promise<WritebackStatus | null>
  /** What came of the claim in any other way; null: the claim was lost. */
  readonly settle: (one: Writeback, step: Transition) => Promise<WritebackStatus | null>
  /** Gives the claim back, and nothing has happened. */
  readonly release: (one: Writeback, dueAt: EpochMs | null, evidence?: Evidence) => Promise<void>
  /** The message that a reply turned out to be. */
  readonly recordMessageId: (one: Writeback, messageId: string) => Promise<void>
  /** Ids of messages of the lane that are the proof of some write-back. */
  readonly listMatchedMessageIds: (lane: string) => Promise<ReadonlySet<string>>
  /** Whether an equal reply before it arrived of which nobody knows which message it is, and that may show only now. */
  readonly hasUnmatchedDuplicate: (one: Writeback) => Promise<boolean>
  /** What the last correction before this one set the field to, if that was after this one was queued; undefined: none did. */
  readonly findOwnEdit: (one: Writeback, field: 'name' | 'email') => Promise<string | null | undefined>
  /** What became of the last reply that was queued before it and together with it (one import, or one moment); null: there is none. */
  readonly findPreviousReplyStatus: (one: Writeback) => Promise<WritebackStatus | null>
  /** The messages of a conversation that the mirror holds, and the greatest of their times (RFC 3339). */
  readonly readMirroredMessages: (
    conversation: string,
  ) => Promise<{ readonly ids: ReadonlySet<string>; readonly newest: string | null }>
  /** The visitor's conversation with that message, else the one with the newest; null: the mirror knows none. */
  readonly findConversation: (visitor: string, messageId: string | null) => Promise<string | null>
  /** The last replies and notes that were settled, newest first, for the breaker. */
  readonly listRecentOutcomes: (limit: number) => Promise<readonly SendOutcome[]>
  readonly readBehaviours: () => Promise<ReadonlyMap<string, string>>
  readonly recordBehaviours: (learned: readonly ServiceBehaviour[]) => Promise<void>
}

/** Of what is ready: one lane only, or all but some. */
export type ClaimFilter = {
  readonly lane?: string
  readonly withoutOperations?: readonly Operation[]
  /** Replies and notes that are queued are left out: all, or those of these imports (null: of none). */
  readonly withoutQueuedSends?: 'all' | readonly (string | null)[]
}

export type ClaimableWriteback = {
  readonly status: 'queued' | 'sending'
  readonly id: string
  readonly lane: string
  readonly operation: Operation
  readonly batchId: string | null
}

export type SendOutcome = {
  readonly status: WritebackStatus
  readonly batchId: string | null
  /** RFC 3339. */
  readonly at: string
  readonly why: string
  /** The process that sent it died, or fell silent: that says nothing about the service. */
  readonly isOwnFault: boolean
}
