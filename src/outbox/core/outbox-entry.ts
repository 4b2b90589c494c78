/** A write-back as stored: as people see it, and as the sender claims and settles it. */

import { z } from 'zod'
import type { ServiceBehaviour } from '../../../schema/row.ts'
import type { EpochMs } from '../../values/time.ts'
import type { CommonValues } from './common-fields.ts'
import { shownNames, type TargetState } from './field-kinds.ts'
import { type Operation, operationTypes } from './operations.ts'
import type { OutboxEvent, Revocation, WritebackStatus } from './state.ts'
import type { RequestParseResult } from './writeback-request.ts'

/** Times are RFC 3339. */
export type OutboxEntry = CommonValues & {
  readonly id: string
  readonly seq: number
  readonly operation: Operation
  readonly conversationId: string | null
  readonly visitorId: string | null
  readonly payload: Readonly<Record<string, unknown>>
  readonly status: WritebackStatus
  readonly attempts: number
  readonly batchId: string | null
  /** Of the imported file, as its spreadsheet numbers it: the header is row 1. */
  readonly sourceRow: number | null
  /** The address or name by which an import found its conversation; null = named by its id. */
  readonly foundBy: string | null
  readonly createdAt: string
  readonly createdBy: string | null
  readonly sentAt: string | null
  readonly finishedAt: string | null
  /** Who approved it; null if it needed no approval or waits for it. */
  readonly approvedBy: string | null
  /** Who made the last decision about it. */
  readonly decidedBy: string | null
  /** Who stopped its batch; null unless it waits for that reason. */
  readonly stoppedBy: string | null
  /** Until when its approval can be undone; null if it cannot. */
  readonly undoUntil: string | null
  /** Increases with every claim, decision and correction by SQL. */
  readonly fencingToken: number
  readonly requestId: string | null
  readonly messageId: string | null
  /** Why it did not succeed, or what the service shows although it has. */
  readonly error: string | null
  /** Why it has this status. */
  readonly reason: string | null
}

/** A message of the conversation that may be a reply whose outcome is not known. */
export type Candidate = {
  readonly id: string
  /** False: the mirror does not have it yet, so nothing else of it is known. */
  readonly isMirrored: boolean
  readonly at: string | null
  readonly name: string | null
  readonly content: string | null
}

export type EventLogEntry = {
  readonly at: string
  readonly from: WritebackStatus | null
  readonly to: WritebackStatus
  readonly detail: string | null
  /** Who decided it; null if no person did. */
  readonly person: string | null
  readonly requestId: string | null
}

/** Beside those of other rows. */
export type EventOfRow = EventLogEntry &
  Pick<OutboxEntry, 'sourceRow'> & { readonly writebackId: string }

export type NamedEntry = OutboxEntry & {
  /** Or the address of who has no name. Null if the mirror knows neither. */
  readonly visitorName: string | null
  /** Of the visitor, in the conversation. */
  readonly lastWords: string | null
  /** Of the reply or the note. */
  readonly firstWords: string | null
}

/** The id of the conversation or the visitor. */
export function targetIdOf({ operation, conversationId, visitorId }: OutboxEntry): string {
  return (operationTypes[operation].target === 'conversation' ? conversationId : visitorId) ?? ''
}

/** The same as what sends, reviews and reverts it reads: validated once, as its row is decoded. */
export type Writeback = Pick<
  OutboxEntry,
  | 'id'
  | 'seq'
  | 'operation'
  | 'status'
  | 'attempts'
  | 'batchId'
  | 'sourceRow'
  | 'createdAt'
  | 'sentAt'
  | 'finishedAt'
  | 'expiresAt'
  | 'fencingToken'
> & {
  readonly lane: string
  readonly target: string
  /** SQL may have written anything. */
  readonly request: RequestParseResult
  /** Decided while it was in flight: it gets this status if it did not arrive. */
  readonly revokedAs: Revocation | null
  /** The mirror's view of the target when this was queued; null if the mirror did not have it. */
  readonly targetSnapshot: TargetState | null
  readonly evidence: Evidence
}

/** What is claimed next. */
export type ClaimableWriteback = Pick<Writeback, 'id' | 'lane' | 'operation'>

/** SQL may write the column: what of it is of a wrong type says nothing, and the rest stays. */
const known = <S extends z.ZodType>(schema: S) => schema.optional().catch(undefined)
const text = z.string()
const texts = z.array(text).readonly()
const number = z.number()
const lookOfTarget = z.object({
  ...Object.fromEntries(shownNames.map((name) => [name, known(text.nullable())])),
  lastMessageAt: known(text.nullable()),
  lastMessageSenderType: known(text.nullable()),
  ids: known(texts),
  digest: known(text),
}) as z.ZodType<TargetState>

/** What is known about a send, used to find out whether it arrived. Stored as JSON. */
export const evidenceSchema = z.object({
  /** The target's state just before the request was sent. */
  before: known(lookOfTarget),
  /** Before the first of several sends, which may have arrived though no response proved it. */
  firstBefore: known(lookOfTarget),
  /** The fencing token of the claim that sent it last. */
  sentWith: known(number),
  /** `silent`: it may be alive and might still send. */
  sender: known(z.enum(['ended', 'dead', 'silent'])),
  /** What the response states without proof, in its words. */
  statedResult: known(z.object({ says: z.enum(['accepted', 'refused']), why: text })),
  /** How many verifications did not find it. */
  verifications: known(number),
  /** Consecutive attempts that failed before anything was sent. */
  failedAttempts: known(number),
  /** Field names that the service refused for a note's text. */
  refusedFields: known(texts),
  /** The service's reason for the first refusal. */
  firstRefusal: known(text),
  status: known(number),
  /** The id of a newer message with its words: it was there before this could be sent. */
  alreadyThere: known(text),
  /** Ids of messages that were not there before it was sent, and may be it in another form. */
  candidates: known(texts),
  /** Before its first send, and what conflicts have named since; a person then queued it again. */
  earlier: known(lookOfTarget),
  /** How its arrival was found. */
  found: known(text),
})
export type Evidence = Readonly<z.infer<typeof evidenceSchema>>

/** An event of a write-back, with what is stored with it. */
export type Transition = {
  readonly event: OutboxEvent
  /** For a person. */
  readonly why: string
  readonly requestId?: string | null
  /** Merged into the stored evidence. */
  readonly evidence?: Evidence
  /** Earliest time of the next attempt. */
  readonly dueAt?: EpochMs
  /** The id of the message that the reply created. */
  readonly messageId?: string
  readonly observedBehaviours?: readonly ServiceBehaviour[]
  /** It was accepted, and the answer shows something else. */
  readonly isContradicted?: boolean
}

export type ClaimFilter = {
  readonly lane?: string
  readonly withoutLanes?: readonly string[]
  readonly withoutOperations?: readonly Operation[]
  /** Leaves out queued replies and notes: all, or those of these imports (null: of none). */
  readonly withoutQueuedSends?: 'all' | readonly (string | null)[]
}

export type WritebackOutcome = {
  readonly status: WritebackStatus
  /** For a person. */
  readonly why: string
  /** It succeeded, and the service shows something else. */
  readonly isContradicted: boolean
}

/** What the circuit breaker judges by. */
export type SendOutcome = Pick<WritebackOutcome, 'status' | 'why'> &
  Pick<Writeback, 'batchId'> & {
    /** RFC 3339. */
    readonly at: string
    /** The sending process died or fell silent, which says nothing about the service. */
    readonly isOwnFault: boolean
  }
