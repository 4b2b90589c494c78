/** The five operations on conversations. */

import type { Conversation, Message } from '../model.ts'
import type { Switches } from '../switches.ts'
import { type FieldKind, queryReader, readBody, usualPage } from './ask.ts'
import { lowest, upTo } from './bounds.ts'
import type { Json } from './json.ts'
import type { Asked, Operation } from './operation.ts'
import { endsOf, onWire, type Page, pageOf, single } from './paging.ts'
import { notFound } from './problem.ts'

export const conversationOperations: readonly Operation[] = [
  {
    id: 'listConversations',
    method: 'GET',
    path: '/public/projects/{projectId}/conversations',
    scope: 'conversations:read',
    query: () => ['handled', 'since', 'limit'],
    run: listConversations,
  },
  {
    id: 'getConversation',
    method: 'GET',
    path: '/public/conversations/{conversationId}',
    scope: 'conversations:read',
    query: () => [],
    run: (asked) => single(asked.project.wire().conversation(conversationOf(asked)), asked.switches['single.shape']),
  },
  {
    id: 'listMessages',
    method: 'GET',
    path: '/public/conversations/{conversationId}/messages',
    scope: 'conversations:read',
    query: messageParameters,
    run: listMessages,
  },
  {
    id: 'sendMessage',
    method: 'POST',
    path: '/public/conversations/{conversationId}/messages',
    scope: 'conversations:write',
    query: () => [],
    run: sendMessage,
  },
  {
    id: 'setHandled',
    method: 'POST',
    path: '/public/conversations/{conversationId}/handled',
    scope: 'conversations:write',
    query: () => [],
    run: setHandled,
  },
]

function conversationOf({ project, params }: Asked): Conversation {
  const found = project.view().find.conversation(params.conversationId ?? '')
  if (found === undefined) throw notFound('conversation')
  return found
}

function listConversations({ project, query, switches: s }: Asked): Json {
  const read = queryReader(query, s)
  const [handled, since, limit] = [read.flag('handled'), read.time('since', 'optional'), read.limit(usualPage)]
  read.done()
  const bound = { inclusive: s['conversations.bound'] === 'inclusive', hidden: s['time.hidden'] }
  const [view, wire] = [project.view(), project.wire()]
  const page = pageOf(view.conversations(s['conversations.since']), {
    from: since === undefined ? undefined : lowest(since, bound),
    limit,
    ...endsOf(s['conversations.order'], since !== undefined),
    keep: handled === undefined ? undefined : (row) => (row.handledAt !== null) === handled,
    hasMore: s.hasMore,
    hollow: s['pages.hollow'],
  })
  return onWire(page, (row) => wire.conversation(view.copy.conversation(row)))
}

function messageParameters(s: Switches): readonly string[] {
  const paging = s['messages.paging']
  if (paging === 'all') return []
  return paging === 'limit' ? ['limit'] : [paging, 'limit']
}

function listMessages(asked: Asked): Json {
  const conversation = conversationOf(asked)
  const wire = asked.project.wire()
  return onWire(messagePage(asked, conversation), (row: Message) => wire.message(conversation.id, row))
}

function messagePage({ project, query, switches: s }: Asked, conversation: Conversation): Page<Message> {
  const read = queryReader(query, s)
  const paging = s['messages.paging']
  const honoured = paging !== 'all' && s['messages.limit'] === 'honoured'
  const limit = honoured ? read.limit(s['messages.page']) : s['messages.page']
  const moment = paging === 'since' || paging === 'before' ? read.time(paging, 'optional') : undefined
  read.done()
  const bound = { inclusive: s['messages.bound'] === 'inclusive', hidden: s['time.hidden'] }
  return pageOf(project.view().messages(conversation), {
    from: paging === 'since' && moment !== undefined ? lowest(moment, bound) : undefined,
    to: paging === 'before' && moment !== undefined ? upTo(moment, bound) : undefined,
    limit: paging === 'all' ? Number.MAX_SAFE_INTEGER : limit,
    ...endsOf(s['messages.order'], moment !== undefined),
    hasMore: s.hasMore,
    hollow: s['pages.hollow'],
  })
}

const messageBody: Readonly<Record<string, FieldKind>> = { content: 'text', senderName: 'text' }

function sendMessage(asked: Asked): Json {
  const body = readBody(asked.body, messageBody)
  const conversation = conversationOf(asked)
  const { mutate, view, wire } = asked.project
  const sent = mutate.replyArrives(conversation.id, String(body.content), String(body.senderName))
  return wire().message(conversation.id, view().as.message(conversation, sent))
}

function setHandled(asked: Asked): Json {
  const body = readBody(asked.body, { handled: 'boolean' })
  const { id } = conversationOf(asked)
  const { mutate, view, wire } = asked.project
  return wire().conversation(view().as.conversation(mutate.setHandled(id, body.handled === true)))
}
