/**
 * A reply. Sent twice it would reach a customer twice, and the service knows no key that would keep it from that. So the
 * messages that are there are noted before it leaves; where no answer comes it is looked for among those that are new.
 */
import type { Answer } from '../../core/call.ts'
import type { Writeback } from '../../core/outbox/outbox.ts'
import type { Payload } from '../../core/outbox/wish.ts'
import { moment, rfc3339, type Seconds } from '../../core/time.ts'
import { messages } from '../../streams/messages.ts'
import { fieldsOf } from '../../streams/row.ts'
import type { WritebackDeps } from '../deps.ts'
import { newsSince, seenBy } from '../expectation.ts'
import { readTalk, type Said } from '../talk.ts'
import { conversationPath, refreshConversation } from './conversation.ts'
import type { Procedure } from './procedure.ts'

/** The clocks of a service's machines may differ by as much. */
const slack: Seconds = 60

export const message: Procedure<'message'> = {
  method: 'POST',
  path: (_project, id) => `${conversationPath(id)}/messages`,
  idempotent: false,
  rest: 1,
  guard: async (deps, one, { payload, expect }) => {
    const shown = moment(one.seen?.last_message_at)
    const conversation =
      expect === null && shown !== undefined ? null : await deps.get(conversationPath(one.target), {}, 'write')
    if (conversation !== null && expect !== null) {
      const why = await newsSince(deps, one.target, conversation, seenBy(one, expect, conversation))
      if (why !== null) return { go: false, happening: 'overtaken', why }
    }
    const last = conversation === null ? shown : moment(fieldsOf(conversation.data)?.lastMessageAt)
    const { there, since } = await readRecent(deps, one.target, last === undefined ? null : last - slack)
    const before = { ids: there.map(({ id }) => id), ...(since === null ? {} : { since: rfc3339(since) }) }
    return { go: true, body: { content: payload.content, senderName: payload.sender_name }, before }
  },
  look: async (deps, one, { payload }) => {
    const { news, whole } = await newsOf(deps, one)
    const same = news.find((said) => isSame(said, payload))
    if (same !== undefined) {
      if (await deps.outbox.hasUnplacedEqual(one))
        return { kind: 'unknowable', why: `message ${same.id} may be an equal reply that was queued before it` }
      return { kind: 'found', how: `it is in the conversation (message ${same.id})`, messageId: same.id }
    }
    if (!whole) return { kind: 'unknowable', why: 'the service does not show all messages of the conversation' }
    const other = news.find((said) => said.by !== 'visitor' && mayBe(said, payload))
    if (other === undefined) return { kind: 'absent' }
    const why = `message ${other.id} is new there and much like it: it may be this one, as the service shows it`
    return { kind: 'unknowable', why }
  },
  refresh: (deps, one) => refreshConversation(deps, one.target),
  recognize: async (deps, one, { payload }, answer) =>
    (await storeAnswer(deps, one, answer)) ?? (await findAnswered(deps, one, payload)),
}

/** Where nothing shows from its last message on, that time is not by the clock of the messages: then all are read. */
async function readRecent(deps: WritebackDeps, conversation: string, since: Seconds | null) {
  const { shown } = await readTalk(deps, conversation, since)
  if (shown.length > 0 || since === null) return { there: shown, since }
  return { there: (await readTalk(deps, conversation, null)).shown, since: null }
}

/** What is in the conversation that was not there before it left, and is no proof of another one. */
async function newsOf(deps: WritebackDeps, one: Writeback) {
  const { before } = one.evidence
  const talk = await readTalk(deps, one.target, moment(before?.since) ?? null)
  const known = new Set(before?.ids)
  const proven = await deps.outbox.provenMessages(one.lane)
  return { ...talk, news: talk.shown.filter(({ id }) => !known.has(id) && !proven.has(id)) }
}

function isSame({ content, senderName }: Said, payload: Payload['message']): boolean {
  return plain(content) === plain(payload.content) && plain(senderName) === plain(payload.sender_name)
}

/** A service may trim a text, and write its line ends and accents in another way. */
function plain(text: string | null): string {
  return (text ?? '').normalize('NFC').replace(/\s+/g, ' ').trim()
}

/** A service may show a text otherwise than it was sent: escaped, shortened, without its tags, with a signature. */
function mayBe({ content, senderName }: Said, payload: Payload['message']): boolean {
  return plain(senderName) === plain(payload.sender_name) || resembles(content ?? '', payload.content)
}

/** By three letters at a time, as not every language puts blanks between its words, and tags may be all that does. */
function resembles(shown: string, sent: string): boolean {
  const [there, ours] = [trigrams(shown), trigrams(sent)]
  const shared = [...there].filter((three) => ours.has(three)).length
  return shared >= Math.min(there.size, ours.size) * 0.6
}

function trigrams(text: string): ReadonlySet<string> {
  const letters = text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/<[^>]*>|&#?\w+;|[^\p{L}\p{N}]/gu, '')
  return new Set(Array.from(letters, (_, at) => letters.slice(at, at + 3)).filter((three) => three.length === 3))
}

const documented = ['id', 'conversationId', 'senderType', 'kind', 'content', 'senderDisplayName', 'createdAt']

/** What a write answers is not documented. Where it is the message, whole, it is stored as it came. */
async function storeAnswer(deps: WritebackDeps, one: Writeback, answer: Answer): Promise<string | null> {
  const fields = fieldsOf(answer.data)
  if (fields === null || !documented.every((name) => name in fields)) return null
  if (fields.conversationId !== one.target) return null
  const { rows } = messages.rows([answer.data], one.target)
  await deps.mirror.commit({ stream: 'messages', rows, askedAt: answer.askedAt })
  return String(fields.id)
}

/** Looks which message it has become, and brings it into the mirror. */
async function findAnswered(deps: WritebackDeps, one: Writeback, payload: Payload['message']): Promise<string | null> {
  const { news, rows, askedAt } = await newsOf(deps, one)
  await deps.mirror.commit({ stream: 'messages', rows, askedAt })
  return news.find((said) => isSame(said, payload))?.id ?? null
}
