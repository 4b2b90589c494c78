/** Reads the messages of a conversation from the service. */
import type { MirrorRow } from '../../../schema/row.ts'
import { toMessageSide } from '../../mirror/core/message-fields.ts'
import { conversations } from '../../mirror/core/streams.ts'
import type { MessagesRead } from '../../mirror/mirror.ts'
import { readMessages } from '../../mirror/sync/read-messages.ts'
import type { ApiResponse } from '../../service/core/api-request.ts'
import { asJsonObject, type Json } from '../../values/json.ts'
import { type EpochSeconds, parseTime } from '../../values/time.ts'
import { toLaneName } from '../core/operations.ts'
import type { Writeback } from '../core/outbox-entry.ts'
import {
  describeNewMessage,
  describeUnseen,
  noConversation,
  type ShownReply,
  seenUntil,
} from '../core/review/guards.ts'
import type { Task, WritebackDeps } from './operation-handler.ts'

export type SnapshotMessage = ShownReply & { readonly side: ReturnType<typeof toMessageSide> }

export type ConversationSnapshot = ReturnType<typeof toSnapshot>

/** Reads all messages. `isProven`: and checks that none was skipped. Throws ApiError. */
export async function readSnapshot(
  deps: WritebackDeps,
  conversation: string,
  options?: { readonly isProven: true },
) {
  const { projectId, get, now } = deps
  const { readBehaviours, recordBehaviours } = deps.outbox
  return toSnapshot(
    await readMessages(
      { projectId, get, now, readBehaviours, recordBehaviours },
      conversation,
      options,
    ),
  )
}

function toSnapshot({ rows, ...read }: MessagesRead) {
  const oldestFirst = (some: readonly MirrorRow<Json>[]) =>
    some.map(toSnapshotMessage).sort(compareByTime)
  return {
    ...read,
    /** Oldest first, without system events. */
    utterances: oldestFirst(rows.filter(isUtterance)),
    /** Including system events, as it is not documented which messages are system events. */
    messages: oldestFirst(rows),
    rows,
  }
}

/** According to the API documentation, every other kind is a system event. */
function isUtterance({ columns }: MirrorRow<Json>): boolean {
  return columns.kind === 'utterance' || columns.kind === undefined || columns.kind === null
}

function toSnapshotMessage({ columns }: MirrorRow<Json>): SnapshotMessage {
  return {
    id: String(columns.id),
    at: parseTime(columns.created_at) ?? null,
    content: textOrNull(columns.content),
    senderName: textOrNull(columns.sender_display_name),
    side: toMessageSide(columns.sender_type),
  }
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function compareByTime(a: SnapshotMessage, b: SnapshotMessage): number {
  return (
    (a.at ?? 0) - (b.at ?? 0) ||
    (/^\d+$/.test(a.id + b.id) ? Number(BigInt(a.id) - BigInt(b.id)) : 0)
  )
}

/** What the person saw: up to this second (in the mirror or elsewhere), or up to this message. */
type Precondition =
  | { readonly at: EpochSeconds; readonly isFromMirror: boolean }
  | { readonly id: string }

/** From `expect`, else from the mirror as it was when queued, else from the time of queueing. */
function toPrecondition(
  writeback: Writeback,
  expect: string | null,
  conversation: ApiResponse,
): Precondition {
  const expectedAt = parseTime(expect)
  if (expectedAt !== undefined) return { at: expectedAt, isFromMirror: false }
  if (expect !== null) return { id: expect }
  const mirroredAt = seenUntil(
    writeback.targetSnapshot,
    parseTime(asJsonObject(conversation.data)?.lastMessageAt),
  )
  if (mirroredAt !== undefined) return { at: mirroredAt, isFromMirror: true }
  // Corrects for the difference between the service's clock and ours.
  const clockOffset =
    conversation.serverDate === null
      ? 0
      : conversation.serverDate - Math.floor(conversation.requestedAt / 1000)
  return { at: (parseTime(writeback.createdAt) ?? 0) + clockOffset, isFromMirror: false }
}

/**
 * Why it must not be sent; null if the precondition holds. Compares times, and ids because clocks
 * may be wrong: if the mirror has what the person saw, what it lacks is new. Throws ApiError.
 */
export async function findViolation(
  { deps, writeback }: Task,
  expect: string | null,
  conversation: ApiResponse,
  conversationId = writeback.target,
): Promise<string | null> {
  const precondition = toPrecondition(writeback, expect, conversation)
  const fields = asJsonObject(conversation.data)
  const last = parseTime(fields?.lastMessageAt)
  const hasMoved = 'id' in precondition || last === undefined || last > precondition.at
  const isByVisitor = toMessageSide(fields?.lastMessageSenderType) === 'visitor'
  if ('at' in precondition && last !== undefined && hasMoved && isByVisitor)
    return describeNewMessage(last, precondition.at)
  const mirroredIds = await readMirroredIds(deps, conversationId, precondition)
  if (!hasMoved && mirroredIds === null) return null
  const { messages, utterances, isComplete } = await readSnapshot(deps, conversationId)
  const later =
    'at' in precondition
      ? utterances.filter(({ at }) => (at ?? Number.POSITIVE_INFINITY) > precondition.at)
      : // A person may have seen a system event last.
        messagesAfter(messages, precondition.id)
  if (later === null)
    return `the message ${'id' in precondition ? precondition.id : ''} is not in the conversation`
  const isMirrored = ({ id }: SnapshotMessage) => mirroredIds === null || mirroredIds.has(id)
  const laterIds = new Set(later.map(({ id }) => id))
  const unseen = utterances.filter((message) => laterIds.has(message.id) || !isMirrored(message))
  const ownIds = await deps.outbox.listMatchedMessageIds(toLaneName('conversation', conversationId))
  // An unknown sender is treated as a visitor, which is the safe error.
  const violation = unseen.find((message) => message.side !== 'team' && !ownIds.has(message.id))
  if (violation !== undefined) return describeUnseen(violation.id, violation.at)
  return isComplete || !hasMoved
    ? null
    : 'the service does not show all messages, so a visitor may have written since'
}

/** Ids of the mirrored messages; null if the mirror does not contain what the person saw. */
async function readMirroredIds(
  deps: WritebackDeps,
  conversationId: string,
  precondition: Precondition,
): Promise<ReadonlySet<string> | null> {
  if ('at' in precondition && !precondition.isFromMirror) return null
  const { ids, newest } = await deps.outbox.readMirroredMessages(conversationId)
  const isMirrored =
    'id' in precondition
      ? ids.has(precondition.id)
      : (parseTime(newest) ?? Number.NEGATIVE_INFINITY) >= precondition.at
  return isMirrored ? ids : null
}

function messagesAfter(
  messages: readonly SnapshotMessage[],
  id: string,
): readonly SnapshotMessage[] | null {
  const index = messages.findIndex((message) => message.id === id)
  return index < 0 ? null : messages.slice(index + 1)
}

/** The same for a visitor: the conversation that `expect` refers to. Throws ApiError. */
export async function findVisitorViolation(
  task: Task,
  expect: string | null,
): Promise<string | null> {
  const { deps, writeback } = task
  if (expect === null) return null
  const messageId = parseTime(expect) === undefined ? expect : null
  const sought = [{ visitor: writeback.target, messageId }]
  const [conversationId = null] = await deps.outbox.findConversations(sought)
  if (conversationId === null) return noConversation
  const conversation = await deps.get(
    conversations.rowPath(deps.projectId, conversationId),
    {},
    'write',
  )
  return findViolation(task, expect, conversation, conversationId)
}
