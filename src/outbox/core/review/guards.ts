/**
 * What the check just before sending would find, judged from the mirror, by the same rules as in
 * src/outbox/handlers, without a request. Pure.
 */
import { toMessageSide } from '../../../mirror/core/message-fields.ts'
import { normalizeText } from '../../../values/invisible.ts'
import { type EpochSeconds, parseTime, rfc3339 } from '../../../values/time.ts'
import {
  type FieldValues,
  fieldNames,
  type MirroredMessage,
  type MirroredTarget,
  type TargetState,
  toFieldValues,
} from '../field-kinds.ts'
import { isCorrection, operationTypes, type WritebackPayload } from '../operations.ts'
import type { Writeback } from '../outbox-entry.ts'
import { effectOf, marksHandled, type WritebackRequest } from '../writeback-request.ts'
import type { Obstacle, ReviewRow } from './terms.ts'

/** The values set by our corrections of the target that succeeded. */
export type OwnEdits = {
  /** By the last one that succeeded after this one was queued. */
  readonly ownEdit: FieldValues
  /** By the last one that ever did. */
  readonly lastOwnEdit: FieldValues
}
export const noOwnEdits: OwnEdits = { ownEdit: {}, lastOwnEdit: {} }

export type ReviewFacts = OwnEdits & {
  /** No earlier reply of the warehouse, and no other row, has its sender. */
  readonly isNewSender: boolean
  /** Without the rows before it; null if unknown. */
  readonly target: MirroredTarget | null
  /** It would not be queued, because its ref was queued before. */
  readonly isRefQueued: boolean
  /** When the streams with the target were last read to their end (RFC 3339); null = never. */
  readonly mirrorAsOf: string | null
  /** The conversation that `expect` refers to: the target, or one of the visitor's. */
  readonly conversation: MirroredTarget | null
  /** The message whose id `expect` is; null if the mirror does not have it in that conversation. */
  readonly expectedMessage: MirroredMessage | null
  /** That may be newer than the queued reply, except for those of other write-backs. */
  readonly newerMessages: readonly ShownReply[]
  /** When a person last queued it again after it had ended (RFC 3339). */
  readonly requeuedAt: string | null
}

export function findObstacleInMirror(row: ReviewRow, facts: ReviewFacts): Obstacle | null {
  if (!row.request.ok || facts.target === null) return null
  const { request } = row.request
  return (
    findNewMessage(row, request, facts) ??
    findSentReply(row, request, facts) ??
    findEdit(row, request, facts)
  )
}

/** A reply, a note or a correction is guarded only by `expect`; marking handled always is. */
function findNewMessage(
  row: ReviewRow,
  request: WritebackRequest,
  facts: ReviewFacts,
): Obstacle | null {
  const { expect } = request
  if (expect === null && !marksHandled(request)) return null
  const { conversation, expectedMessage } = facts
  if (conversation === null) return { reason: 'no_conversation', why: noConversation }
  const at = expect === null ? timeSeen(row, conversation) : parseTime(expect)
  if (at !== undefined) return findMessageAfter(conversation, at)
  if (expect === null) return null
  if (expectedMessage === null)
    return {
      reason: 'expected_not_mirrored',
      why: `the mirror does not have the message ${expect}`,
    }
  const last = conversation.lastVisitorMessage
  if (last === null) return null
  const later =
    timeOf(last) - timeOf(expectedMessage) || Number(BigInt(last.id) - BigInt(expectedMessage.id))
  return later > 0 ? visitorWrote(last) : null
}

export const noConversation =
  'the mirror has no conversation of this visitor, so the expected message cannot be found'

/** Up to when the person saw the conversation: when the row was queued, or else now. */
function timeSeen(
  { queued }: ReviewRow,
  { lastMessageAt }: MirroredTarget,
): EpochSeconds | undefined {
  const last = parseTime(lastMessageAt)
  if (queued === null) return last
  return seenUntil(queued.targetSnapshot, last) ?? parseTime(queued.createdAt)
}

/** The time of the last message when it was queued, 0 if there was none. Undefined if not known. */
export function seenUntil(
  snapshot: TargetState | null,
  last: EpochSeconds | undefined,
): EpochSeconds | undefined {
  const wasEmpty = snapshot?.lastMessageAt === null && last !== undefined
  return wasEmpty ? 0 : parseTime(snapshot?.lastMessageAt)
}

export function describeNewMessage(last: EpochSeconds, after: EpochSeconds): string {
  return `a visitor wrote at ${rfc3339(last)}${after === 0 ? '' : `, after ${rfc3339(after)}`}`
}

function findMessageAfter(conversation: MirroredTarget, at: EpochSeconds): Obstacle | null {
  const { lastMessageAt, lastMessageSenderType, lastVisitorMessage } = conversation
  const last = parseTime(lastMessageAt)
  const isByVisitor = toMessageSide(lastMessageSenderType) === 'visitor'
  if (isByVisitor && last !== undefined && last > at)
    return { reason: 'visitor_wrote', why: describeNewMessage(last, at) }
  if (lastVisitorMessage === null || timeOf(lastVisitorMessage) <= at) return null
  return visitorWrote(lastVisitorMessage)
}

function visitorWrote({ id, at }: MirroredMessage): Obstacle {
  return { reason: 'visitor_wrote', why: describeUnseen(id, parseTime(at)) }
}

export function describeUnseen(id: string, at: EpochSeconds | null | undefined): string {
  return `a visitor wrote ${at == null ? 'since' : `at ${rfc3339(at)}`} (message ${id})`
}

/** A reply that has not left is there: the outbox is older than the service. */
function findSentReply(
  { queued }: ReviewRow,
  request: WritebackRequest,
  facts: ReviewFacts,
): Obstacle | null {
  if (request.operation !== 'message' || queued === null) return null
  const [same] = findRepetitions(facts.newerMessages, request.payload, queued, facts.requeuedAt)
  return same === undefined ? null : { reason: 'already_sent', why: describeRepetition(same) }
}

function timeOf({ at }: MirroredMessage): EpochSeconds {
  return parseTime(at) ?? 0
}

function findEdit(
  { queued }: ReviewRow,
  request: WritebackRequest,
  facts: ReviewFacts,
): Obstacle | null {
  if (!isCorrection(operationTypes[request.operation]) || facts.target === null) return null
  const why = findForeignEdit(effectOf(request), toFieldValues(facts.target), {
    queuedAs: queued?.targetSnapshot ?? null,
    sentAs: undefined,
    ...facts,
  })
  return why === null ? null : { reason: 'edited_since', why }
}

/** Someone changed the same field since it was queued, or has set all of it already. */
export function findForeignEdit(
  wanted: FieldValues,
  current: FieldValues,
  {
    queuedAs,
    sentAs,
    ownEdit,
    lastOwnEdit,
  }: OwnEdits & { readonly queuedAs: TargetState | null; readonly sentAs: TargetState | undefined },
): string | null {
  const fields = fieldNames.filter((field) => wanted[field] !== undefined)
  const before = sentAs && toFieldValues(sentAs)
  const was = { ...toFieldValues(queuedAs), ...before, ...ownEdit }
  const hasMoved = fields.some(
    (field) => was[field] !== undefined && !isSameValue(current[field], was[field]),
  )
  // What it set when it was sent before may be there.
  if (
    before === undefined &&
    hasMoved &&
    fields.every((field) => isSameValue(current[field], wanted[field]))
  )
    return 'it is there already, and has been set since it was queued'
  const foreign = fields.find((field) => {
    const now = current[field]
    const then = was[field]
    if (now === undefined || then === undefined || now === then || now === wanted[field])
      return false
    // The mirror may not have seen our last correction when this one was queued.
    const ours = [
      ownEdit[field],
      lastOwnEdit[field],
      before?.[field] === undefined ? undefined : wanted[field],
    ]
    return !ours.some((value) => value !== undefined && isSameValue(now, value))
  })
  return foreign === undefined ? null : `someone changed the ${foreign} since it was queued`
}

export function isSameValue(a: unknown, b: unknown): boolean {
  return toNormalForm(a) === toNormalForm(b)
}

/** A service may trim a text, store an address in lower case, or null as an empty text. */
function toNormalForm(value: unknown): unknown {
  if (typeof value !== 'string') return value
  const text = normalizeText(value).toLowerCase()
  return text === '' ? null : text.replace(/^([^\s@+]+)\+[^\s@]*@/, '$1@')
}

/** A message as the service or the mirror shows it. */
export type ShownReply = {
  readonly id: string
  readonly at: EpochSeconds | null
  readonly content: string | null
  readonly senderName: string | null
}

export function matchesPayload(
  { content, senderName }: Pick<ShownReply, 'content' | 'senderName'>,
  payload: WritebackPayload['message'],
): boolean {
  return (
    normalizeText(content) === normalizeText(payload.content) &&
    normalizeText(senderName) === normalizeText(payload.sender_name)
  )
}

/**
 * Newer messages with the words of the reply: sent now, they would reach the customer twice.
 * `requeuedAt`: when a person, who knew what was there, queued it again. `clockOffset`: of the
 * service, in seconds.
 */
export function findRepetitions(
  messages: readonly ShownReply[],
  payload: WritebackPayload['message'],
  { targetSnapshot, createdAt }: Pick<Writeback, 'targetSnapshot' | 'createdAt'>,
  requeuedAt: string | null,
  clockOffset = 0,
): readonly ShownReply[] {
  // The last message that the mirror had then.
  const seen = parseTime(targetSnapshot?.lastMessageAt)
  const queued = (parseTime(requeuedAt ?? createdAt) ?? 0) + clockOffset
  const isNewer = ({ at }: ShownReply) => {
    if (requeuedAt !== null) return at !== null && at > (seen ?? queued)
    return at === null || at >= queued - wholeSecondsSlack || (seen !== undefined && at > seen)
  }
  return messages.filter((one) => matchesPayload(one, payload) && isNewer(one))
}

export function describeRepetition({ id }: ShownReply): string {
  return `it is there already: message ${id} has the same words, and is newer than this`
}

/** All of these times are whole seconds. */
export const wholeSecondsSlack = 2
