/** Marks a conversation handled, or reopens it. */
import type { ApiResponse } from '../../service/core/api-request.ts'
import { asJsonObject } from '../../values/json.ts'
import { findViolation } from './conversation-snapshot.ts'
import { type CreateHandler, readTarget } from './operation-handler.ts'

export const createHandledHandler: CreateHandler<'handled'> = ({ payload: { handled: wanted }, expect }) => ({
  method: 'POST',
  path: '/handled',
  verifyDelayFactor: 0.1,
  checkPrecondition: async (task) => {
    const { deps, writeback } = task
    // For "reply, then close": without the reply, closing would leave the customer without an answer.
    const reply = wanted ? await deps.outbox.findPreviousReplyStatus(writeback) : null
    if (reply !== null && reply !== 'succeeded')
      return { canSend: false, event: 'conflicted', why: `the reply queued before it was not sent (${reply})` }
    const conversation = await readTarget(task)
    const handledAt = readTimeText(conversation, 'handledAt')
    if (wanted || expect !== null) {
      const why = await findViolation(task, expect, conversation)
      if (why !== null) return { canSend: false, event: 'conflicted', why }
    }
    // It was sent before, and someone marked the conversation handled since: the newer change wins.
    const was = writeback.evidence.before?.handledAt
    if (!wanted && was !== undefined && handledAt !== null && handledAt !== was) {
      return { canSend: false, event: 'conflicted', why: `someone marked it handled at ${handledAt}` }
    }
    return {
      canSend: true,
      body: { handled: wanted },
      before: { handledAt, lastMessageAt: readTimeText(conversation, 'lastMessageAt') },
    }
  },
  verify: async (task) => {
    const { before, statedResult } = task.writeback.evidence
    const isNowHandled = readTimeText(await readTarget(task), 'handledAt') !== null
    const wasHandled = (before?.handledAt ?? null) !== null
    // If it was already so before the send, the state proves nothing unless the service responded. Sending again is harmless.
    const provesNothing = wasHandled === wanted && statedResult === undefined
    if (isNowHandled !== wanted || provesNothing) return { kind: 'absent' }
    return { kind: 'found', how: `the conversation is ${isNowHandled ? 'handled' : 'open'}` }
  },
})

function readTimeText(conversation: ApiResponse, field: 'handledAt' | 'lastMessageAt'): string | null {
  const at = asJsonObject(conversation.data)?.[field]
  return at === null || at === undefined ? null : String(at)
}
