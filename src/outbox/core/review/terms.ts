/** What a review is about, and what it may say of it. Pure. */
import type { FieldName } from '../../../../schema/operation-specs.ts'
import type { FieldValue } from '../field-kinds.ts'
import type { ReviewAction } from '../operations.ts'
import type { Writeback } from '../outbox-entry.ts'

export const reviewOutcomes = [
  /** A reply or a note. */
  'would_send',
  'would_change',
  'already_so',
  /** It would not be queued, or would be refused or not sent. */
  'stands_against',
  'not_known',
] as const
export type ReviewOutcome = (typeof reviewOutcomes)[number]

/** Why a write-back would not be carried out, or why that is not known. */
export const reviewReasons = {
  queued_before: ['stands_against', 'the ref was queued before'],
  invalid: ['stands_against', 'the row is not valid'],
  expired: ['stands_against', 'it has expired'],
  /** The reply that was queued together with this flag would not be sent. */
  reply_not_sent: ['stands_against', 'the reply before it is not sent'],
  deleted: ['stands_against', 'the service no longer has it'],
  visitor_wrote: ['stands_against', 'the visitor has written since'],
  edited_since: ['stands_against', 'someone has changed the same field since'],
  /** A newer message has the words of this reply. */
  already_sent: ['stands_against', 'it is there already'],
  /** `expect` of a note or a correction refers to a conversation of the visitor. */
  no_conversation: ['stands_against', 'the visitor has no conversation to compare with'],
  not_mirrored: ['not_known', 'the mirror does not have it'],
  expected_not_mirrored: ['not_known', 'the mirror does not have the expected message'],
} as const satisfies Readonly<Record<string, readonly [ReviewOutcome, label: string]>>
type ReviewReason = keyof typeof reviewReasons

/** `why`: a sentence with the values of this row. */
export type Obstacle = { readonly reason: ReviewReason; readonly why: string }

/** A write-back to review: a row of a file, or a row of a batch. */
export type ReviewRow = Pick<Writeback, 'operation' | 'target' | 'request'> & {
  /** Its number for people: the row of the spreadsheet, or else its place in the batch; from 1. */
  readonly position: number
  /** In the order of the queue. A row of a spreadsheet may be two write-backs. */
  readonly place: number
  /** Null if it is a row of a file, which is behind everything that is queued. */
  readonly queued: Writeback | null
}

export type FieldChange = {
  readonly field: FieldName
  readonly old: FieldValue
  readonly new: FieldValue
}

export type WritebackReview = Pick<ReviewRow, 'position' | 'place' | 'operation' | 'target'> & {
  /** Null if it is not queued yet. */
  readonly id: string | null
  readonly action: ReviewAction
  readonly outcome: ReviewOutcome
  readonly reason: ReviewReason | null
  readonly why: string | null
  /** Also of a reply that reopens a handled conversation. Empty if it would not be sent. */
  readonly changes: readonly FieldChange[]
  readonly visitorName: string | null
  /** Of the visitor, in the conversation. */
  readonly lastWords: { readonly text: string; readonly at: string | null } | null
  /** Of the reply or the note. */
  readonly firstWords: string | null
  /** The name that the visitor sees; null: it is no reply. */
  readonly senderName: string | null
  /** What a person should look at before it is sent, in sentences. */
  readonly marks: readonly string[]
  /** The earlier row with the same target, which is sent first; null if there is none. */
  readonly after: number | null
  /** The uncertain write-back that a person must resolve first. */
  readonly blockedBy: string | null
  /** The last message that the person saw: its id or its time. */
  readonly expect: string | null
  /** RFC 3339. */
  readonly expiresAt: string | null
  /** When what has the target was last read to its end (RFC 3339); null = never. */
  readonly mirrorAsOf: string | null
}

export type ReviewGroup = {
  readonly outcome: ReviewOutcome
  readonly action: ReviewAction
  readonly reason: ReviewReason | null
  readonly count: number
  /** How many of them would also change a field: replies that reopen a handled conversation. */
  readonly changing: number
  /** How many wait until a person resolves an uncertain write-back. */
  readonly blocked: number
  /** The first ones. */
  readonly samples: readonly WritebackReview[]
}

export type ReviewSummary = {
  readonly rows: number
  readonly counts: Readonly<Record<ReviewOutcome, number>>
  /** In the order of the outcomes; within one, the largest first. */
  readonly groups: readonly ReviewGroup[]
  /** What a person should look at before it is sent: how many, and the first ones. */
  readonly marked: { readonly rows: number; readonly samples: readonly WritebackReview[] }
  /** The oldest of the rows' `mirrorAsOf`; null if the mirror has never been read to its end. */
  readonly mirrorAsOf: string | null
}
