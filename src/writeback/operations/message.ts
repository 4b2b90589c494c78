/**
 * Sends a reply. The service has no idempotency key, so a second send would reach the customer twice. The message ids
 * of the conversation are stored before the send; if no response comes, the reply is searched among the new messages.
 */
import type { ApiResponse } from '../../core/api-request.ts'
import { findKey } from '../../core/item-fields.ts'
import { asJsonObject } from '../../core/json.ts'
import { findRepetition, matchesPayload } from '../../core/outbox/same-words.ts'
import type { WritebackPayload } from '../../core/outbox/writeback-request.ts'
import { parseTime } from '../../core/time.ts'
import { messages } from '../../streams/messages.ts'
import { isInDoubt } from '../send/send-task.ts'
import {
  type ConversationSnapshot,
  readSnapshot,
  readSnapshotTwice,
  type SnapshotMessage,
} from '../verify/conversation-snapshot.ts'
import { digestMessages, hasContentChanged, matchReply, messageIdsBefore, newMessages } from '../verify/match-reply.ts'
import { conversationPath, refreshConversation } from './conversation.ts'
import type { CreateHandler, Task } from './operation-handler.ts'
import { findViolation } from './precondition.ts'

export const createMessageHandler: CreateHandler<'message'> = ({ payload, expect }) => ({
  method: 'POST',
  path: (_project, id) => `${conversationPath(id)}/messages`,
  verifyDelayFactor: 1,
  checkPrecondition: async (task) => {
    const { deps, writeback } = task
    const body = { content: payload.content, senderName: payload.sender_name }
    // It was verified just now. A second read could count a late reply as a message from before the send.
    if (isInDoubt(writeback)) return { canSend: true, body, before: writeback.evidence.before ?? {} }
    if (expect !== null) {
      const conversation = await deps.get(conversationPath(writeback.target), {}, 'write')
      const why = await findViolation(task, expect, conversation)
      if (why !== null) return { canSend: false, event: 'conflicted', why }
    }
    const snapshot = await readSnapshot(deps, writeback.target)
    const why = await findSentReply(task, payload, snapshot)
    if (why !== null) return { canSend: false, event: 'conflicted', why }
    const { messages: current, isComplete } = snapshot
    const before = isComplete ? { ids: current.map(({ id }) => id), digest: digestMessages(current) } : {}
    return { canSend: true, body, before }
  },
  verify: async ({ deps, writeback }) => {
    const { messages: current, isComplete } = await readSnapshotTwice(deps, writeback.target)
    const matchedIds = await deps.outbox.listMatchedMessageIds(writeback.lane)
    const before = messageIdsBefore(writeback)
    const isChanged = before !== null && hasContentChanged(current, before, writeback.evidence.before?.digest)
    const verification = matchReply(current, { before, isChanged, matchedIds, payload, isComplete })
    if (verification.kind !== 'found' || !(await deps.outbox.hasUnmatchedDuplicate(writeback, payload)))
      return verification
    const why = `message ${verification.messageId} may be an identical reply that was queued earlier`
    return { kind: 'unverifiable', why }
  },
  refreshTarget: ({ deps, writeback }) => refreshConversation(deps, writeback.target),
  findMessageId: async (task, response) =>
    (await storeReturnedMessage(task, response)) ?? (await findSentMessage(task, payload, response)),
})

const documentedFields = ['id', 'conversationId', 'senderType', 'kind', 'content', 'senderDisplayName', 'createdAt']

/** The response body of a write is not documented. If it is the complete message, it is stored. */
async function storeReturnedMessage({ deps, writeback }: Task, response: ApiResponse): Promise<string | null> {
  const fields = asJsonObject(response.data)
  if (fields === null || !documentedFields.every((name) => name in fields)) return null
  if (String(fields.conversationId).toLowerCase() !== writeback.target.toLowerCase()) return null
  const { rows } = messages.parseRows([response.data], writeback.target)
  await deps.mirror.commit({ stream: 'messages', rows, requestedAt: response.requestedAt })
  return findKey(response.data, ['id'])
}

/** Finds the message that the reply created, by the id in the response or by its text, and stores the messages. */
async function findSentMessage({ deps, writeback }: Task, payload: WritebackPayload['message'], response: ApiResponse) {
  const { messages: current, rows, requestedAt } = await readSnapshot(deps, writeback.target)
  await deps.mirror.commit({ stream: 'messages', rows, requestedAt })
  const before = messageIdsBefore(writeback)
  const returnedId = before === null ? null : messageIdIn(response, before)
  return returnedId ?? (await findNewMessage({ deps, writeback }, payload, current))?.id ?? null
}

/** A message with these words that was not there before the last send; null also if it was never sent. */
async function findNewMessage(
  { deps, writeback }: Task,
  payload: WritebackPayload['message'],
  current: readonly SnapshotMessage[],
): Promise<SnapshotMessage | null> {
  const before = messageIdsBefore(writeback)
  if (before === null) return null
  const added = newMessages(current, before, await deps.outbox.listMatchedMessageIds(writeback.lane))
  return added.find((candidate) => matchesPayload(candidate, payload)) ?? null
}

/** Why it would reach the customer twice; null if nothing shows that. */
async function findSentReply(
  task: Task,
  payload: WritebackPayload['message'],
  { messages: current, clockOffset }: ConversationSnapshot,
): Promise<string | null> {
  const { deps, writeback } = task
  const repeated = await findNewMessage(task, payload, current)
  if (repeated !== null) return `message ${repeated.id} has the same words, and has appeared since this was last sent`
  // Judged by ids above.
  if (messageIdsBefore(writeback) !== null) return null
  const requeuedAt = await deps.outbox.findRequeueing(writeback)
  const age = {
    seenUntil: parseTime(writeback.targetSnapshot?.last_message_at) ?? null,
    queuedAt: (parseTime(requeuedAt ?? writeback.createdAt) ?? 0) + clockOffset,
    isRequeued: requeuedAt !== null,
  }
  const matchedIds = await deps.outbox.listMatchedMessageIds(writeback.lane)
  return findRepetition(
    current.filter(({ id }) => !matchedIds.has(id)),
    payload,
    age,
  )
}

/** The new message id in the response, if it has the form of the known ids. The list may not show it yet. */
function messageIdIn({ data }: ApiResponse, before: ReadonlySet<string>): string | null {
  const nested = asJsonObject(data)?.message
  const nestedId = nested === undefined ? null : findKey(nested, ['id'])
  const candidateId = findKey(data, ['messageId']) ?? nestedId ?? findKey(data, ['id'])
  const [knownId = '0'] = before
  if (candidateId === null || before.has(candidateId)) return null
  return isNumber(candidateId) === isNumber(knownId) ? candidateId : null
}

function isNumber(id: string): boolean {
  return /^\d{1,19}$/.test(id)
}
