/**
 * A reply. Sent twice it would reach a customer twice, and the service knows no key that would keep it from that. So the
 * messages that are there are noted before it leaves; where no answer comes it is looked for among those that are new.
 */
import type { Answer } from '../../core/call.ts'
import type { Writeback } from '../../core/outbox/outbox.ts'
import type { Payload } from '../../core/outbox/wish.ts'
import { messages } from '../../streams/messages.ts'
import { fieldsOf, keyOf } from '../../streams/row.ts'
import type { WritebackDeps } from '../deps.ts'
import { newsSince, seenBy } from '../expectation.ts'
import { readTalk, readTalkTwice } from '../talk.ts'
import { wasSent } from '../task.ts'
import { conversationPath, refreshConversation } from './conversation.ts'
import type { Procedure } from './procedure.ts'
import { digestOf, hasChanged, idsBefore, isSame, judge, newOnes } from './reply.ts'

export const message: Procedure<'message'> = {
  method: 'POST',
  path: (_project, id) => `${conversationPath(id)}/messages`,
  idempotent: false,
  rest: 1,
  guard: async (deps, one, { payload, expect }) => {
    const body = { content: payload.content, senderName: payload.sender_name }
    // It was looked for just now, and the conversation is as it was then: another look could take a late one for old.
    if (wasSent(one)) return { go: true, body, before: one.evidence.before ?? {} }
    if (expect !== null) {
      const conversation = await deps.get(conversationPath(one.target), {}, 'write')
      const why = await newsSince(deps, one.target, conversation, seenBy(one, expect, conversation))
      if (why !== null) return { go: false, happening: 'overtaken', why }
    }
    const { shown, whole } = await readTalk(deps, one.target)
    return { go: true, body, before: whole ? { ids: shown.map(({ id }) => id), digest: digestOf(shown) } : {} }
  },
  look: async (deps, one, { payload }) => {
    const { shown, whole } = await readTalkTwice(deps, one.target)
    const others = await deps.outbox.provenMessages(one.lane)
    const before = idsBefore(one)
    const isChanged = before !== null && hasChanged(shown, before, one.evidence.before?.digest)
    const looked = judge(shown, { before, isChanged, others, payload, whole })
    if (looked.kind === 'found' && (await deps.outbox.hasUnplacedEqual(one)))
      return { kind: 'unknowable', why: `message ${looked.messageId} may be an equal reply that was queued before it` }
    return looked
  },
  refresh: (deps, one) => refreshConversation(deps, one.target),
  recognize: async (deps, one, { payload }, answer) =>
    (await storeAnswer(deps, one, answer)) ?? (await findAnswered(deps, one, payload, answer)),
}

const documented = ['id', 'conversationId', 'senderType', 'kind', 'content', 'senderDisplayName', 'createdAt']

/** What a write answers is not documented. Where it is the message, whole, it is stored as it came. */
async function storeAnswer(deps: WritebackDeps, one: Writeback, answer: Answer): Promise<string | null> {
  const fields = fieldsOf(answer.data)
  if (fields === null || !documented.every((name) => name in fields)) return null
  if (String(fields.conversationId).toLowerCase() !== one.target.toLowerCase()) return null
  const { rows } = messages.rows([answer.data], one.target)
  await deps.mirror.commit({ stream: 'messages', rows, askedAt: answer.askedAt })
  return keyOf(answer.data, ['id'])
}

/** Looks which message it has become, and brings it into the mirror: the one that the answer names, or the new one that matches. */
async function findAnswered(
  deps: WritebackDeps,
  one: Writeback,
  payload: Payload['message'],
  answer: Answer,
): Promise<string | null> {
  const { shown, rows, askedAt } = await readTalk(deps, one.target)
  await deps.mirror.commit({ stream: 'messages', rows, askedAt })
  const before = idsBefore(one)
  if (before === null) return null
  const news = newOnes(shown, before, await deps.outbox.provenMessages(one.lane))
  return namedIn(answer, before) ?? news.find((said) => isSame(said, payload))?.id ?? null
}

/** The new id that an answer names, whether it shows already or not: written as the ids of messages are. */
function namedIn({ data }: Answer, before: ReadonlySet<string>): string | null {
  const inner = fieldsOf(data)?.message
  const ids = [keyOf(data, ['messageId']), inner === undefined ? null : keyOf(inner, ['id']), keyOf(data, ['id'])]
  const named = ids.find((id) => id !== null) ?? null
  const isNumber = (id: string) => /^\d{1,19}$/.test(id)
  const [usual = '0'] = before
  return named === null || before.has(named) || isNumber(named) !== isNumber(usual) ? null : named
}
