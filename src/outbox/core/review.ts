/**
 * What a write-back would do, judged from the mirror before it is sent. Each row is compared with
 * its target as the rows before it leave it: a flag behind a reply, which reopens the conversation,
 * is not already set. Pure.
 */
import type { FieldName } from '../../../schema/operation-specs.ts'
import { excerpt } from '../../values/invisible.ts'
import type { EpochMs } from '../../values/time.ts'
import {
  type FieldValue,
  type FieldValues,
  fieldNames,
  type TargetState,
  toFieldValues,
} from './field-kinds.ts'
import { type Operation, operationTypes, type ReviewAction } from './operations.ts'
import type { Writeback } from './outbox-entry.ts'
import { findObstacleInMirror, type GuardFacts } from './review-guards.ts'
import { findMarks, senderOf } from './review-marks.ts'
import type { WritebackStatus } from './state.ts'
import {
  describeExpiry,
  describeMistakes,
  effectOf,
  hasExpired,
  marksHandled,
  type WritebackRequest,
} from './writeback-request.ts'

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

/**
 * Why a write-back would not be carried out, or why that is not known, and in the words of people.
 */
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
export type ReviewReason = keyof typeof reviewReasons

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

export type MirroredMessage = {
  readonly id: string
  readonly at: string | null
  readonly text: string | null
}

/** A target as the mirror has it. */
export type MirroredTarget = TargetState & {
  readonly syncedAt: string
  readonly isDeleted: boolean
  readonly visitorName: string | null
  /** The last message of the conversation that the team did not write. */
  readonly lastVisitorMessage: MirroredMessage | null
}

/** What is known about a row besides the row itself. */
export type ReviewFacts = GuardFacts & {
  /** No earlier reply of the warehouse, and no other row, has its sender. */
  readonly isNewSender: boolean
}

export type FieldChange = {
  readonly field: FieldName
  readonly old: FieldValue
  readonly new: FieldValue
}

export type WritebackReview = {
  /** Its number for people: the row of the spreadsheet, or else its place in the batch; from 1. */
  readonly position: number
  /** In the order of the queue. A row of a spreadsheet may be two write-backs. */
  readonly place: number
  /** Null if it is not queued yet. */
  readonly id: string | null
  readonly operation: Operation
  /** The id of the conversation or the visitor. */
  readonly target: string
  readonly action: ReviewAction
  readonly outcome: ReviewOutcome
  readonly reason: ReviewReason | null
  /** Null unless there is a reason. */
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

type RowResult = { readonly review: WritebackReview; readonly lane: LaneState }

/** `lane`: the state after the rows before it. */
export function reviewRow(
  row: ReviewRow,
  facts: ReviewFacts,
  lane: LaneState,
  now: EpochMs,
): RowResult {
  const obstacle = findObstacle(row, facts, lane, now)
  const { request = null } = row.request
  const { target } = facts
  const isSent = obstacle === null && request !== null && target !== null
  const changes = isSent ? findChanges(request, target, lane) : []
  const last = target?.lastVisitorMessage
  const review: WritebackReview = {
    position: row.position,
    place: row.place,
    id: row.queued?.id ?? null,
    operation: row.operation,
    target: row.target,
    action: actionOf(row),
    outcome:
      obstacle === null
        ? positiveOutcome(row.operation, changes)
        : reviewReasons[obstacle.reason][0],
    reason: obstacle?.reason ?? null,
    why: obstacle?.why ?? null,
    changes,
    visitorName: target?.visitorName ?? null,
    lastWords: last?.text == null ? null : { text: excerpt(last.text), at: last.at },
    firstWords:
      request !== null && 'content' in request.payload ? excerpt(request.payload.content) : null,
    senderName: senderOf(request),
    marks: findMarks(request, facts.isNewSender),
    after: lane.lastPosition,
    blockedBy: lane.blockedBy,
    expect: request?.expect ?? null,
    expiresAt: request?.expiresAt ?? null,
    mirrorAsOf: facts.mirrorAsOf,
  }
  // A row that is not queued has no effect on the rows after it.
  if (facts.isRefQueued) return { review, lane }
  const after = { ...lane, lastPosition: row.position }
  if (isSent) return { review, lane: applyRequest(after, request) }
  const unsentReply = `the reply before it (row ${row.position}) would not be sent`
  return { review, lane: row.operation === 'message' ? { ...after, unsentReply } : after }
}

function actionOf({ operation, request }: ReviewRow): ReviewAction {
  const { action, unless } = operationTypes[operation]
  if (unless === undefined || !request.ok) return action
  return effectOf(request.request)[unless.field] === unless.is ? unless.action : action
}

/** In the order in which queueing and sending would find them. */
function findObstacle(
  row: ReviewRow,
  facts: ReviewFacts,
  lane: LaneState,
  now: EpochMs,
): Obstacle | null {
  if (!row.request.ok) return { reason: 'invalid', why: describeMistakes(row.request.mistakes) }
  const { request } = row.request
  if (facts.isRefQueued)
    return { reason: 'queued_before', why: `its ref ${request.ref} was queued before` }
  if (hasExpired(request.expiresAt, now))
    return { reason: 'expired', why: describeExpiry(request.expiresAt) }
  if (marksHandled(request) && lane.unsentReply !== null)
    return { reason: 'reply_not_sent', why: lane.unsentReply }
  const found = findObstacleInMirror(row, facts)
  if (found !== null) return found
  const kind = operationTypes[row.operation].target
  if (facts.target === null)
    return { reason: 'not_mirrored', why: `the mirror does not have this ${kind}` }
  return facts.target.isDeleted
    ? { reason: 'deleted', why: `the service no longer has this ${kind}` }
    : null
}

function findChanges(
  request: WritebackRequest,
  target: TargetState,
  lane: LaneState,
): readonly FieldChange[] {
  const wanted = effectOf(request)
  const current: FieldValues = { ...toFieldValues(target), ...lane }
  return fieldNames.flatMap((field) => {
    const old = current[field]
    const value = wanted[field]
    return old === undefined || value === undefined || value === old
      ? []
      : [{ field, old, new: value }]
  })
}

function positiveOutcome(operation: Operation, changes: readonly FieldChange[]): ReviewOutcome {
  if (operationTypes[operation].sets.length === 0) return 'would_send'
  return changes.length > 0 ? 'would_change' : 'already_so'
}

/** What the earlier rows of a lane change; a field that none of them sets is absent. */
export type LaneState = FieldValues & {
  /**
   * Why the last reply that was queued together with this row is not sent; null if it is, or if
   * there is none.
   */
  readonly unsentReply: string | null
  /** The position of the last row; null if this is the first. */
  readonly lastPosition: number | null
  /** The uncertain write-back that blocks the lane. */
  readonly blockedBy: string | null
}

export const emptyLane: LaneState = { unsentReply: null, lastPosition: null, blockedBy: null }

export const describeUnsentReply = (status: WritebackStatus) =>
  `the reply queued before it was not sent (${status})`

/** The lane after a request was carried out. */
function applyRequest(lane: LaneState, request: WritebackRequest): LaneState {
  const unsentReply = request.operation === 'message' ? null : lane.unsentReply
  return { ...lane, ...effectOf(request), unsentReply }
}

/**
 * The lane behind a write-back that was queued before and is not reviewed: what is queued is taken
 * as sent. `batch`: of the rows that are reviewed.
 */
export function applyAhead(
  lane: LaneState,
  { id, status, request: { request }, batchId }: Writeback,
  batch: string | null,
): LaneState {
  const isOpen = status === 'queued' || status === 'sending' || status === 'uncertain'
  const unsentReply =
    batch === null || batchId !== batch || request?.operation !== 'message'
      ? lane.unsentReply
      : isOpen || status === 'succeeded'
        ? null
        : describeUnsentReply(status)
  const after = isOpen && request !== undefined ? applyRequest(lane, request) : lane
  return { ...after, unsentReply, blockedBy: status === 'uncertain' ? id : lane.blockedBy }
}
