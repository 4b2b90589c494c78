/**
 * What the check just before sending would find, judged from the mirror: a visitor has written since, or someone has
 * changed the same field. The same rules as in src/writeback/operations, without a request. Pure.
 */
import { type EpochSeconds, parseTime, rfc3339 } from '../time.ts'
import type { ConversationState, MirroredMessage, Obstacle, ReviewRow, TargetState } from './review.ts'
import { findRepetition, type ShownReply } from './same-words.ts'
import type { WritebackRequest } from './writeback-request.ts'

export type OwnEdit = { readonly name?: string | null; readonly email?: string | null }

export type GuardFacts = {
  readonly target: TargetState | null
  /** The conversation that `expect` refers to: the target, or one of the visitor's. */
  readonly conversation: ConversationState | null
  /** The message whose id `expect` is; null if the mirror does not have it in that conversation. */
  readonly expectedMessage: MirroredMessage | null
  /** Messages in the conversation of a queued reply that may be newer, except for those of other write-backs. */
  readonly newerMessages: readonly ShownReply[]
  /** When a person last queued it again after it had ended (RFC 3339). */
  readonly requeuedAt: string | null
  /** The value set by our last correction that succeeded after this one was queued; absent if there is none. */
  readonly ownEdit: OwnEdit
  /** The value set by our last correction that ever succeeded. */
  readonly lastOwnEdit: OwnEdit
}

export function findObstacleInMirror(row: ReviewRow, facts: GuardFacts): Obstacle | null {
  if (!row.request.ok || facts.target === null) return null
  const { request } = row.request
  return (
    findNewMessage(row, request, facts) ?? findSentReply(row, request, facts) ?? findForeignEdit(row, request, facts)
  )
}

/** A reply, a note or a correction is guarded only by `expect`; marking handled always is. */
function findNewMessage(row: ReviewRow, request: WritebackRequest, facts: GuardFacts): Obstacle | null {
  const { expect, operation } = request
  const marksHandled = operation === 'handled' && request.payload.handled
  if (expect === null && !marksHandled) return null
  const { conversation, expectedMessage } = facts
  if (conversation === null) {
    const why = 'the mirror has no conversation of this visitor, so the expected message cannot be found'
    return { reason: 'no_conversation', why }
  }
  const at = expect === null ? timeSeen(row, conversation) : parseTime(expect)
  if (at !== undefined) return findMessageAfter(conversation, at)
  if (expect === null) return null
  if (expectedMessage === null)
    return { reason: 'expected_not_mirrored', why: `the mirror does not have the message ${expect}` }
  const last = conversation.lastVisitorMessage
  return last !== null && compareMessages(last, expectedMessage) > 0 ? visitorWrote(last) : null
}

/** Up to when the person saw the conversation: as it was when the row was queued, or else as the mirror shows it now. */
function timeSeen({ queued }: ReviewRow, { lastMessageAt }: ConversationState): EpochSeconds | undefined {
  return queued === null ? parseTime(lastMessageAt) : (parseTime(queued.seen?.last_message_at) ?? parseTime(queued.at))
}

function findMessageAfter(conversation: ConversationState, at: EpochSeconds): Obstacle | null {
  const { isLastByVisitor, lastMessageAt, lastVisitorMessage } = conversation
  const last = parseTime(lastMessageAt)
  if (isLastByVisitor && last !== undefined && last > at)
    return { reason: 'visitor_wrote', why: `a visitor wrote at ${rfc3339(last)}, after ${rfc3339(at)}` }
  if (lastVisitorMessage === null || timeOf(lastVisitorMessage) <= at) return null
  return visitorWrote(lastVisitorMessage)
}

function visitorWrote(message: MirroredMessage): Obstacle {
  const at = parseTime(message.at)
  const when = at === undefined ? 'since' : `at ${rfc3339(at)}`
  return { reason: 'visitor_wrote', why: `a visitor wrote ${when} (message ${message.id})` }
}

/** The words of a reply that has not left stand in its conversation: the outbox is older than the service. */
function findSentReply({ queued }: ReviewRow, request: WritebackRequest, facts: GuardFacts): Obstacle | null {
  if (request.operation !== 'message' || queued === null) return null
  const age = {
    seenUntil: parseTime(queued.seen?.last_message_at) ?? null,
    queuedAt: parseTime(facts.requeuedAt ?? queued.at) ?? 0,
    isRequeued: facts.requeuedAt !== null,
  }
  const why = findRepetition(facts.newerMessages, request.payload, age)
  return why === null ? null : { reason: 'already_sent', why }
}

/** By time, then by id. */
function compareMessages(a: MirroredMessage, b: MirroredMessage): number {
  return timeOf(a) - timeOf(b) || Number(BigInt(a.id) - BigInt(b.id))
}

function timeOf({ at }: MirroredMessage): EpochSeconds {
  return parseTime(at) ?? 0
}

/** Someone changed the same field since it was queued, and not to the wanted value. */
function findForeignEdit({ queued }: ReviewRow, request: WritebackRequest, facts: GuardFacts): Obstacle | null {
  const { target, ownEdit, lastOwnEdit } = facts
  if (request.operation !== 'visitor' || target?.kind !== 'visitor') return null
  const { payload } = request
  const fields = (['name', 'email'] as const).filter((field) => payload[field] !== undefined)
  const hasMoved = fields.some((field) => {
    const was = ownEdit[field] === undefined ? queued?.seen?.[field] : ownEdit[field]
    return was !== undefined && !isSameText(target[field], was)
  })
  if (hasMoved && fields.every((field) => isSameText(target[field], payload[field] ?? null)))
    return { reason: 'edited_since', why: 'it is there already, and has been set since it was queued' }
  for (const field of ['name', 'email'] as const) {
    const [wanted, current, own] = [request.payload[field], target[field], ownEdit[field]]
    const was = own === undefined ? queued?.seen?.[field] : own
    // The mirror may not have seen our last correction when this one was queued, and then nobody else changed it.
    const isOurs = [own, lastOwnEdit[field]].some((value) => value !== undefined && isSameText(current, value))
    if (wanted === undefined || was === undefined || current === was || current === wanted || isOurs) continue
    return { reason: 'edited_since', why: `someone changed the ${field} since it was queued` }
  }
  return null
}

/** The service may trim values and convert email addresses to lower case. */
function isSameText(a: string | null, b: string | null): boolean {
  const normalize = (text: string | null) => text?.normalize('NFC').trim().toLowerCase() ?? null
  return normalize(a) === normalize(b)
}
