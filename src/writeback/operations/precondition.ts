/** Whether a visitor has written since the moment that a person saw: then what that person wanted may be wrong by now. */
import type { ApiResponse } from '../../core/api-request.ts'
import type { Writeback } from '../../core/outbox/repository.ts'
import { toLaneName } from '../../core/outbox/writeback-request.ts'
import { parseTime, rfc3339, type Seconds } from '../../core/time.ts'
import { asJsonObject } from '../../streams/item.ts'
import type { WritebackDeps } from '../deps.ts'
import { readSnapshot, type SnapshotMessage, toMessageSide } from '../verify/conversation-snapshot.ts'

/** What the person saw: the conversation up to this second, or up to this message. `mirror`: the mirror showed it. */
export type Precondition = { readonly at: Seconds; readonly isFromMirror: boolean } | { readonly id: string }

/** What was said to be seen, else what the mirror showed, else all there was when it was queued. */
export function toPrecondition(writeback: Writeback, expect: string | null, conversation: ApiResponse): Precondition {
  const expectedAt = parseTime(expect)
  if (expectedAt !== undefined) return { at: expectedAt, isFromMirror: false }
  if (expect !== null) return { id: expect }
  const mirroredAt = parseTime(writeback.targetSnapshot?.last_message_at)
  if (mirroredAt !== undefined) return { at: mirroredAt, isFromMirror: true }
  // The service has its own clock.
  const clockOffset = conversation.servedAt === null ? 0 : conversation.servedAt - Math.floor(conversation.askedAt / 1000)
  return { at: (parseTime(writeback.createdAt) ?? 0) + clockOffset, isFromMirror: false }
}

/**
 * Why it must not go: what happened since; null: nothing did. By times, and by ids as well, as clocks may be wrong: where
 * the mirror holds what was seen, a message that it does not hold is news, whatever its time. Throws CallFailed.
 */
export async function findViolation(
  deps: WritebackDeps,
  conversationId: string,
  conversation: ApiResponse,
  precondition: Precondition,
): Promise<string | null> {
  const fields = asJsonObject(conversation.data)
  const last = parseTime(fields?.lastMessageAt)
  const hasMoved = 'id' in precondition || last === undefined || last > precondition.at
  if ('at' in precondition && last !== undefined && hasMoved && toMessageSide(fields?.lastMessageSenderType) === 'visitor')
    return `a visitor wrote at ${rfc3339(last)}, after ${rfc3339(precondition.at)}`
  const mirroredIds = await readMirroredIds(deps, conversationId, precondition)
  if (!hasMoved && mirroredIds === null) return null
  const { utterances, isComplete } = await readSnapshot(deps, conversationId)
  const later =
    'at' in precondition ? utterances.filter(({ at }) => (at ?? Number.POSITIVE_INFINITY) > precondition.at) : messagesAfter(utterances, precondition.id)
  if (later === null) return `the message ${'id' in precondition ? precondition.id : ''} is not in the conversation`
  const unseen = mirroredIds === null ? later : utterances.filter((it) => later.includes(it) || !mirroredIds.has(it.id))
  const ownIds = await deps.outbox.listMatchedMessageIds(toLaneName('conversation', conversationId))
  // Whoever is not known to be on our side is taken for a visitor: that is the safe mistake.
  const violation = unseen.find((it) => it.side !== 'ours' && !ownIds.has(it.id))
  if (violation !== undefined)
    return `a visitor wrote ${violation.at === null ? 'since' : `at ${rfc3339(violation.at)}`} (message ${violation.id})`
  return isComplete || !hasMoved ? null : 'the service does not show all messages, so a visitor may have written since'
}

/** Ids of the messages that the mirror holds; null: what was seen is not among them, or was not seen there. */
async function readMirroredIds(deps: WritebackDeps, conversationId: string, precondition: Precondition): Promise<ReadonlySet<string> | null> {
  if ('at' in precondition && !precondition.isFromMirror) return null
  const { ids, newest } = await deps.outbox.readMirroredMessages(conversationId)
  const isMirrored = 'id' in precondition ? ids.has(precondition.id) : (parseTime(newest) ?? Number.NEGATIVE_INFINITY) >= precondition.at
  return isMirrored ? ids : null
}

function messagesAfter(messages: readonly SnapshotMessage[], id: string): readonly SnapshotMessage[] | null {
  const index = messages.findIndex((message) => message.id === id)
  return index < 0 ? null : messages.slice(index + 1)
}
