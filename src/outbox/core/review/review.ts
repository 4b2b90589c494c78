/**
 * What a write-back would do, judged from the mirror. Each row is compared with its target as the
 * rows before it leave it: a flag behind a reply, which reopens, is not already set. Pure.
 */
import { excerpt } from '../../../values/invisible.ts'
import type { EpochMs } from '../../../values/time.ts'
import {
  type FieldValues,
  fieldNames,
  type MirroredTarget,
  notStored,
  toFieldValues,
} from '../field-kinds.ts'
import { type Operation, operationTypes, type ReviewAction } from '../operations.ts'
import type { Writeback } from '../outbox-entry.ts'
import type { WritebackStatus } from '../state.ts'
import {
  describeExpiry,
  describeMistakes,
  effectOf,
  hasExpired,
  marksHandled,
  type WritebackRequest,
} from '../writeback-request.ts'
import { findObstacleInMirror, type ReviewFacts } from './guards.ts'
import { findMarks, senderOf } from './marks.ts'
import {
  type FieldChange,
  type Obstacle,
  type ReviewOutcome,
  type ReviewRow,
  reviewReasons,
  type WritebackReview,
} from './terms.ts'

/** `lane`: the state after the rows before it. */
export function reviewRow(
  row: ReviewRow,
  facts: ReviewFacts,
  lane: LaneState,
  now: EpochMs,
): { readonly review: WritebackReview; readonly lane: LaneState } {
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
  target: MirroredTarget,
  lane: LaneState,
): readonly FieldChange[] {
  const wanted = effectOf(request)
  const blocked = (target.notStored ?? []).map((field) => [field, notStored])
  const current: FieldValues = { ...toFieldValues(target), ...Object.fromEntries(blocked), ...lane }
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
  /** Why the last reply that was queued together with this row is not sent; null: it is. */
  readonly unsentReply: string | null
  /** The position of the last row; null if this is the first. */
  readonly lastPosition: number | null
  /** The uncertain write-back that blocks the lane. */
  readonly blockedBy: string | null
}

export const emptyLane: LaneState = { unsentReply: null, lastPosition: null, blockedBy: null }

export const describeUnsentReply = (status: WritebackStatus) =>
  `the reply queued before it did not succeed (${status})`

function applyRequest(lane: LaneState, request: WritebackRequest): LaneState {
  const unsentReply = request.operation === 'message' ? null : lane.unsentReply
  return { ...lane, ...effectOf(request), unsentReply }
}

/** Behind a write-back that was queued before: taken as sent. `batch`: of the reviewed rows. */
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
