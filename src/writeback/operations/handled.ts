/** Marks a conversation handled, or reopens it. */
import type { ApiResponse } from '../../core/api-request.ts'
import { asJsonObject } from '../../streams/item.ts'
import { findViolation, toPrecondition } from './precondition.ts'
import { conversationPath, refreshConversation } from './conversation.ts'
import type { OperationHandler } from './operation-handler.ts'

export const handledHandler: OperationHandler<'handled'> = {
  method: 'POST',
  path: (_project, id) => `${conversationPath(id)}/handled`,
  isIdempotent: true,
  verifyDelayFactor: 0.1,
  guard: async (deps, writeback, request) => {
    const wanted = request.payload.handled
    // "Answer, then close": without the answer the customer would be left with nothing.
    const reply = wanted ? await deps.outbox.findPreviousReplyStatus(writeback) : null
    if (reply !== null && reply !== 'succeeded') {
      return { canSend: false, event: 'overtaken', why: `the reply that was queued before it did not go out (${reply})` }
    }
    const conversation = await deps.get(conversationPath(writeback.target), {}, 'write')
    const handledAt = readHandledAt(conversation)
    if (wanted || request.expect !== null) {
      const why = await findViolation(deps, writeback.target, conversation, toPrecondition(writeback, request.expect, conversation))
      if (why !== null) return { canSend: false, event: 'overtaken', why }
    }
    // Sent before, and handled by somebody since: that is the newer wish.
    const was = writeback.evidence.before?.handledAt
    if (!wanted && was !== undefined && handledAt !== null && handledAt !== was) {
      return { canSend: false, event: 'overtaken', why: `somebody marked it handled at ${handledAt}` }
    }
    return { canSend: true, body: { handled: wanted }, before: { handledAt } }
  },
  verify: async (deps, writeback, request) => {
    const conversation = await deps.get(conversationPath(writeback.target), {}, 'write')
    const is = readHandledAt(conversation) !== null
    const was = (writeback.evidence.before?.handledAt ?? null) !== null
    // Where it had been so before, that it is so proves nothing, unless the service has answered; once more does no harm.
    const wasSo = was === request.payload.handled && writeback.evidence.claim === undefined
    if (is !== request.payload.handled || wasSo) return { kind: 'absent' }
    return { kind: 'found', how: `the conversation is ${is ? 'handled' : 'open'}` }
  },
  refreshTarget: (deps, writeback) => refreshConversation(deps, writeback.target),
}

function readHandledAt(conversation: ApiResponse): string | null {
  const at = asJsonObject(conversation.data)?.handledAt
  return at === null || at === undefined ? null : String(at)
}
