/** Marks a conversation handled, or reopens it. */
import type { Answer } from '../../core/call.ts'
import { fieldsOf } from '../../streams/row.ts'
import { newsSince, seenBy } from '../expectation.ts'
import { conversationPath, refreshConversation } from './conversation.ts'
import type { Procedure } from './procedure.ts'

export const handled: Procedure<'handled'> = {
  method: 'POST',
  path: (_project, id) => `${conversationPath(id)}/handled`,
  idempotent: true,
  rest: 0.1,
  guard: async (deps, one, wish) => {
    const wanted = wish.payload.handled
    // "Answer, then close": without the answer the customer would be left with nothing.
    const reply = wanted ? await deps.outbox.replyBefore(one) : null
    if (reply !== null && reply !== 'succeeded') {
      return { go: false, happening: 'overtaken', why: `the reply that was queued before it did not go out (${reply})` }
    }
    const conversation = await deps.get(conversationPath(one.target), {}, 'write')
    const handledAt = handledAtOf(conversation)
    if (wanted || wish.expect !== null) {
      const why = await newsSince(deps, one.target, conversation, seenBy(one, wish.expect, conversation))
      if (why !== null) return { go: false, happening: 'overtaken', why }
    }
    // Sent before, and handled by somebody since: that is the newer wish.
    const was = one.evidence.before?.handledAt
    if (!wanted && was !== undefined && handledAt !== null && handledAt !== was) {
      return { go: false, happening: 'overtaken', why: `somebody marked it handled at ${handledAt}` }
    }
    return { go: true, body: { handled: wanted }, before: { handledAt } }
  },
  look: async (deps, one, wish) => {
    const conversation = await deps.get(conversationPath(one.target), {}, 'write')
    const is = handledAtOf(conversation) !== null
    const was = (one.evidence.before?.handledAt ?? null) !== null
    // Where it had been so before, that it is so proves nothing, unless the service has answered; once more does no harm.
    const wasSo = was === wish.payload.handled && one.evidence.claim === undefined
    if (is !== wish.payload.handled || wasSo) return { kind: 'absent' }
    return { kind: 'found', how: `the conversation is ${is ? 'handled' : 'open'}` }
  },
  refresh: (deps, one) => refreshConversation(deps, one.target),
}

function handledAtOf(conversation: Answer): string | null {
  const at = fieldsOf(conversation.data)?.handledAt
  return at === null || at === undefined ? null : String(at)
}
