/**
 * A reply, a note or a flag that a person writes on the page of a conversation: a draft in their
 * batch of the day.
 */
import type { FastifyInstance } from 'fastify'
import type { NamedEntry } from '../../outbox/outbox.ts'
import { withQuery } from '../../values/address.ts'
import { parseTime, rfc3339 } from '../../values/time.ts'
import { digitsOf } from '../core/list-page.ts'
import { conversationPage, listWritebacksTo } from '../pages/conversations.ts'
import { beginDraft, type Draft, describeUnfilled, draftKinds } from '../pages/draft-form.ts'
import type { Values } from '../screen.ts'
import { type ConversationData, readConversation } from '../sql/conversations.ts'
import {
  admitDraft,
  findSame,
  incompleteForm,
  isFormKey,
  problemOf,
  queueDraft,
} from './queue-draft.ts'
import { type Site, valuesOf } from './site.ts'

/**
 * `key`: of the form, and the ref of what it queues, so that a form that is sent twice queues it
 * once.
 */
type PostedDraft = Draft & {
  readonly key: string
  /** The last message that the person saw; null = there was none. */
  readonly expect: string | null
}

export function addDrafts(app: FastifyInstance, site: Site): void {
  const { send, sendProblem } = site
  app.post<{ Params: { id: string } }>('/p/:project/conversations/:id', async (request, reply) => {
    const admitted = await admitDraft(request, reply, site, 'conversations')
    if (admitted === null) return reply
    const { project, db, frame, address } = admitted
    const conversation = await readConversation(db, request.params.id, null)
    if (conversation === null || conversation.deletedAt !== null) return reply.callNotFound()
    const draft = readForm(valuesOf(request.body))
    if (draft === null) return sendProblem(reply, 400, ...incompleteForm, address, project)
    const queued = await listWritebacksTo(db, conversation)
    const problem =
      findProblem(draft, conversation, queued) ??
      (await queueDraft(admitted, {
        rows: rowsOf(draft, conversation),
        allowDuplicates: draft.allowDuplicates,
        detail: `${draft.kind} · conversation ${conversation.id}`,
      }))
    if (problem === null)
      return reply.redirect(`${withQuery(address, { drafted: draft.key })}#write`, 303)
    const { texts } = beginDraft(conversation, project, frame)
    const writing = { draft, problem, joined: null, texts }
    const page = conversationPage(conversation, queued, writing, frame)
    return send(reply.code(422), page, project)
  })
}

/** Null: it is not a form of ours. */
function readForm(values: Values): PostedDraft | null {
  // Browsers send line ends as CRLF.
  const text = (name: string) => (values(name).at(0) ?? '').replaceAll('\r\n', '\n')
  const kind = draftKinds.find((known) => known === text('kind'))
  const key = text('key')
  const expect = text('expect')
  if (kind === undefined || !isFormKey(key) || (expect !== '' && digitsOf(expect) === null))
    return null
  return {
    key,
    kind,
    expect: expect === '' ? null : expect,
    content: text('content'),
    sender: text('sender').trim(),
    andHandled: text('andHandled') === 'yes',
    allowDuplicates: text('allowDuplicates') === 'yes',
  }
}

/** As an import has them. */
function rowsOf(
  draft: PostedDraft,
  { id, visitorId, createdAt }: ConversationData,
): readonly object[] {
  const { key: ref, kind, content, sender, andHandled, expect } = draft
  const begun = parseTime(createdAt)
  // Who saw no message expects none, not even one of the second in which the conversation began.
  const to = {
    conversation_id: id,
    expect: expect ?? (begun === undefined ? null : rfc3339(begun - 1)),
  }
  const flag = { ...to, operation: 'handled', handled: kind !== 'reopen', ref: `${ref} handled` }
  if (kind === 'note') return [{ operation: 'note', visitor_id: visitorId, content, expect, ref }]
  if (kind !== 'reply') return [flag]
  const reply = { ...to, operation: 'message', content, sender_name: sender, ref }
  return andHandled ? [reply, flag] : [reply]
}

/**
 * What the person could not have seen: the visitor has written since, or the same note or flag
 * waits already.
 */
function findProblem(
  draft: PostedDraft,
  { messages }: ConversationData,
  queued: readonly NamedEntry[],
) {
  // This form was sent before, so what it did is what it does.
  if (queued.some(({ ref }) => ref?.startsWith(draft.key))) return null
  const seen = BigInt(draft.expect ?? 0)
  if (
    messages.some(
      ({ role, id, isDeleted }) => role === 'visitor' && !isDeleted && BigInt(id) > seen,
    )
  )
    return problemOf(
      'The visitor has written since you opened this page. Read it, and add your draft again.',
    )
  const unfilled = describeUnfilled(draft)
  if (unfilled !== null) return problemOf(unfilled)
  if (draft.kind === 'reply') return null
  const payload =
    draft.kind === 'note' ? { content: draft.content } : { handled: draft.kind === 'handled' }
  return findSame(queued, payload)
}
