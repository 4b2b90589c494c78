/**
 * A reply. Sent twice it would reach a customer twice, and the service knows no key that would keep it from that. So the
 * messages that are there are noted before it leaves; where no answer comes it is looked for among those that are new.
 */
import type { Answer } from '../core/call.ts'
import type { Writeback } from '../core/outbox.ts'
import { moment, rfc3339, type Seconds } from '../core/time.ts'
import type { Payload } from '../core/wish.ts'
import { messages } from '../streams/messages.ts'
import { fieldsOf } from '../streams/row.ts'
import { conversationPath, refreshConversation } from './conversation.ts'
import type { Craft, Recognized, WritebackDeps } from './deps.ts'
import { newsSince, seenBy } from './expectation.ts'
import { readTalk, type Said } from './talk.ts'

/** The clocks of a service's machines may differ by as much. */
const slack: Seconds = 60

/** Learned where the service shows replies otherwise than they were sent, or just so. */
const echo = 'writebacks.echo'

export const message: Craft<'message'> = {
  method: 'POST',
  path: (_project, id) => `${conversationPath(id)}/messages`,
  idempotent: false,
  restMs: (verifyAfterMs) => verifyAfterMs,
  guard: async (deps, one, { payload, expect }) => {
    const shown = moment(one.seen?.last_message_at)
    const conversation =
      expect === null && shown !== undefined ? null : await deps.get(conversationPath(one.target), {}, 'write')
    if (conversation !== null && expect !== null) {
      const why = await newsSince(deps, one.target, conversation, seenBy(one, expect, conversation))
      if (why !== null) return { go: false, happening: 'overtaken', why }
    }
    const last = conversation === null ? shown : moment(fieldsOf(conversation.data)?.lastMessageAt)
    const since = last === undefined ? null : last - slack
    const { said } = await readTalk(deps, one.target, since)
    const before = { ids: said.map(({ id }) => id), ...(since === null ? {} : { since: rfc3339(since) }) }
    return { go: true, body: { content: payload.content, senderName: payload.sender_name }, before }
  },
  look: async (deps, one, { payload }) => {
    const { before } = one.evidence
    const { said, whole } = await readTalk(deps, one.target, moment(before?.since) ?? null)
    const known = new Set(before?.ids)
    const proven = await deps.outbox.provenMessages(one.lane)
    const news = said.filter(({ id, byVisitor }) => !byVisitor && !known.has(id) && !proven.has(id))
    const same = news.find((it) => isSame(it, payload))
    if (same !== undefined) {
      const how = `it is in the conversation (message ${same.id})`
      return { kind: 'found', how, messageId: same.id, learned: [asSent(same)] }
    }
    if (!whole) return { kind: 'unknowable', why: 'the service does not show all messages of the conversation' }
    const stranger = news[0]
    if (stranger !== undefined && (await deps.outbox.behaviours()).get(echo) !== 'as sent') {
      const why = `message ${stranger.id} is new there and reads otherwise; it may be this one, as the service shows it`
      return { kind: 'unknowable', why }
    }
    if ((await deps.outbox.behaviours()).get(echo) === 'otherwise') {
      return { kind: 'unknowable', why: 'the service shows replies otherwise than they were sent' }
    }
    return { kind: 'absent' }
  },
  refresh: (deps, one) => refreshConversation(deps, one.target),
  recognize: async (deps, one, { payload }, answer) =>
    (await storeAnswer(deps, one, answer)) ?? (await findAnswered(deps, one, payload)),
}

function isSame({ content, senderName }: Said, payload: Payload['message']): boolean {
  return plain(content) === plain(payload.content) && plain(senderName) === plain(payload.sender_name)
}

/** A service may trim a text, and write its line ends and accents in another way. */
function plain(text: string | null): string {
  return (text ?? '').normalize('NFC').replace(/\s+/g, ' ').trim()
}

function asSent({ id }: Said) {
  return { name: echo, value: 'as sent', evidence: `message ${id} reads as it was sent` }
}

const documented = ['id', 'conversationId', 'senderType', 'kind', 'content', 'senderDisplayName', 'createdAt']

/** What a write answers is not documented. Where it is the message, whole, it is stored as it came. */
async function storeAnswer(deps: WritebackDeps, one: Writeback, answer: Answer): Promise<Recognized | null> {
  const fields = fieldsOf(answer.data)
  if (fields === null || !documented.every((name) => name in fields)) return null
  if (fields.conversationId !== one.target) return null
  const { rows } = messages.rows([answer.data], one.target)
  await deps.mirror.commit({ stream: 'messages', rows, askedAt: answer.askedAt })
  return { messageId: String(fields.id) }
}

/** Looks which message it has become: for the mirror, and to learn whether replies show as they were sent. */
async function findAnswered(deps: WritebackDeps, one: Writeback, payload: Payload['message']): Promise<Recognized> {
  const known = (await deps.outbox.behaviours()).get(echo)
  const { said } = await readTalk(deps, one.target, moment(one.evidence.before?.since) ?? null)
  const before = new Set(one.evidence.before?.ids)
  const proven = await deps.outbox.provenMessages(one.lane)
  const news = said.filter(({ id, byVisitor }) => !byVisitor && !before.has(id) && !proven.has(id))
  const same = news.find((it) => isSame(it, payload))
  if (same !== undefined) return { messageId: same.id, learned: [asSent(same)] }
  if (known !== undefined || news.length !== 1 || news[0] === undefined) return {}
  const evidence = `message ${news[0].id} reads otherwise than it was sent`
  return { messageId: news[0].id, learned: [{ name: echo, value: 'otherwise', evidence }] }
}
