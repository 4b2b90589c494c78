/**
 * A reply. Sent twice it would reach a customer twice, and the service knows no key that would keep it from that. So the
 * messages that are there are noted before it leaves; where no answer comes it is looked for among those that are new.
 */
import type { ApiResponse } from '../../core/api-request.ts'
import type { Writeback } from '../../core/outbox/repository.ts'
import type { WritebackPayload } from '../../core/outbox/writeback-request.ts'
import { messages } from '../../streams/messages.ts'
import { asJsonObject, findKey } from '../../streams/item.ts'
import type { WritebackDeps } from '../deps.ts'
import { findViolation, toPrecondition } from './precondition.ts'
import { readSnapshot, readSnapshotTwice } from '../verify/conversation-snapshot.ts'
import { wasSent } from '../send/send-task.ts'
import { conversationPath, refreshConversation } from './conversation.ts'
import type { OperationHandler } from './operation-handler.ts'
import { digestMessages, hasContentChanged, messageIdsBefore, matchesPayload, matchReply, newMessages } from '../verify/match-reply.ts'

export const messageHandler: OperationHandler<'message'> = {
  method: 'POST',
  path: (_project, id) => `${conversationPath(id)}/messages`,
  isIdempotent: false,
  verifyDelayFactor: 1,
  guard: async (deps, writeback, { payload, expect }) => {
    const body = { content: payload.content, senderName: payload.sender_name }
    // It was looked for just now, and the conversation is as it was then: another look could take a late one for old.
    if (wasSent(writeback)) return { canSend: true, body, before: writeback.evidence.before ?? {} }
    if (expect !== null) {
      const conversation = await deps.get(conversationPath(writeback.target), {}, 'write')
      const why = await findViolation(deps, writeback.target, conversation, toPrecondition(writeback, expect, conversation))
      if (why !== null) return { canSend: false, event: 'overtaken', why }
    }
    const { messages: shownMessages, isComplete } = await readSnapshot(deps, writeback.target)
    return { canSend: true, body, before: isComplete ? { ids: shownMessages.map(({ id }) => id), digest: digestMessages(shownMessages) } : {} }
  },
  verify: async (deps, writeback, { payload }) => {
    const { messages: shownMessages, isComplete } = await readSnapshotTwice(deps, writeback.target)
    const otherIds = await deps.outbox.listMatchedMessageIds(writeback.lane)
    const before = messageIdsBefore(writeback)
    const isChanged = before !== null && hasContentChanged(shownMessages, before, writeback.evidence.before?.digest)
    const verification = matchReply(shownMessages, { before, isChanged, otherIds, payload, isComplete })
    if (verification.kind === 'found' && (await deps.outbox.hasUnmatchedDuplicate(writeback)))
      return { kind: 'unknowable', why: `message ${verification.messageId} may be an equal reply that was queued before it` }
    return verification
  },
  refreshTarget: (deps, writeback) => refreshConversation(deps, writeback.target),
  findMessageId: async (deps, writeback, { payload }, answer) =>
    (await storeReturnedMessage(deps, writeback, answer)) ?? (await findSentMessage(deps, writeback, payload, answer)),
}

const documentedFields = ['id', 'conversationId', 'senderType', 'kind', 'content', 'senderDisplayName', 'createdAt']

/** What a write answers is not documented. Where it is the message, whole, it is stored as it came. */
async function storeReturnedMessage(deps: WritebackDeps, writeback: Writeback, answer: ApiResponse): Promise<string | null> {
  const fields = asJsonObject(answer.data)
  if (fields === null || !documentedFields.every((name) => name in fields)) return null
  if (String(fields.conversationId).toLowerCase() !== writeback.target.toLowerCase()) return null
  const { rows } = messages.parseRows([answer.data], writeback.target)
  await deps.mirror.commit({ stream: 'messages', rows, askedAt: answer.askedAt })
  return findKey(answer.data, ['id'])
}

/** Looks which message it has become, and brings it into the mirror: the one that the answer names, or the new one that matches. */
async function findSentMessage(
  deps: WritebackDeps,
  writeback: Writeback,
  payload: WritebackPayload['message'],
  answer: ApiResponse,
): Promise<string | null> {
  const { messages: shownMessages, rows, askedAt } = await readSnapshot(deps, writeback.target)
  await deps.mirror.commit({ stream: 'messages', rows, askedAt })
  const before = messageIdsBefore(writeback)
  if (before === null) return null
  const added = newMessages(shownMessages, before, await deps.outbox.listMatchedMessageIds(writeback.lane))
  return messageIdIn(answer, before) ?? added.find((candidate) => matchesPayload(candidate, payload))?.id ?? null
}

/** The new id that an answer names, whether it shows already or not: written as the ids of messages are. */
function messageIdIn({ data }: ApiResponse, before: ReadonlySet<string>): string | null {
  const inner = asJsonObject(data)?.message
  const ids = [findKey(data, ['messageId']), inner === undefined ? null : findKey(inner, ['id']), findKey(data, ['id'])]
  const named = ids.find((id) => id !== null) ?? null
  const isNumber = (id: string) => /^\d{1,19}$/.test(id)
  const [example = '0'] = before
  return named === null || before.has(named) || isNumber(named) !== isNumber(example) ? null : named
}
