/** The five operations on conversations. */

import type { Conversation, Message } from '../model.ts'
import type { Switches } from '../switches.ts'
import { lowerBound, upperBound } from './bounds.ts'
import type { Json } from './json.ts'
import type { Operation, OperationRequest } from './operation.ts'
import { type Page, pageEnds, takePage, toListData, toSingleRow } from './paging.ts'
import { notFound } from './problem.ts'
import { createQueryReader, defaultPageSize, type FieldKind, readBody } from './read-request.ts'

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
    run: (request) =>
      toSingleRow(request.project.wire().conversation(findConversation(request)), request.switches['single.shape']),
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

function findConversation({ project, params }: OperationRequest): Conversation {
  const found = project.view().find.conversation(params.conversationId ?? '')
  if (found === undefined) throw notFound('conversation')
  return found
}

function listConversations({ project, query, switches: s }: OperationRequest): Json {
  const read = createQueryReader(query, s)
  const [handled, since, limit] = [read.flag('handled'), read.time('since', 'optional'), read.limit(defaultPageSize)]
  read.throwIssues()
  const bound = { inclusive: s['conversations.bound'] === 'inclusive', hidden: s['time.hidden'] }
  const [view, wire] = [project.view(), project.wire()]
  const page = takePage(view.conversations(s['conversations.since']), {
    from: since === undefined ? undefined : lowerBound(since, bound),
    limit,
    ...pageEnds(s['conversations.order'], since !== undefined),
    matches: handled === undefined ? undefined : (row) => (row.handledAt !== null) === handled,
    hasMore: s.hasMore,
    isEmptyWithBound: s['pages.hollow'],
  })
  return toListData(page, (row) => wire.conversation(view.asListed.conversation(row)))
}

function messageParameters(s: Switches): readonly string[] {
  const paging = s['messages.paging']
  if (paging === 'all') return []
  return paging === 'limit' ? ['limit'] : [paging, 'limit']
}

function listMessages(request: OperationRequest): Json {
  const conversation = findConversation(request)
  const wire = request.project.wire()
  return toListData(takeMessagePage(request, conversation), (row: Message) => wire.message(conversation.id, row))
}

function takeMessagePage({ project, query, switches: s }: OperationRequest, conversation: Conversation): Page<Message> {
  const read = createQueryReader(query, s)
  const paging = s['messages.paging']
  const honoured = paging !== 'all' && s['messages.limit'] === 'honoured'
  const limit = honoured ? read.limit(s['messages.page']) : s['messages.page']
  const time = paging === 'since' || paging === 'before' ? read.time(paging, 'optional') : undefined
  read.throwIssues()
  const bound = { inclusive: s['messages.bound'] === 'inclusive', hidden: s['time.hidden'] }
  return takePage(project.view().messages(conversation), {
    from: paging === 'since' && time !== undefined ? lowerBound(time, bound) : undefined,
    to: paging === 'before' && time !== undefined ? upperBound(time, bound) : undefined,
    limit: paging === 'all' ? Number.MAX_SAFE_INTEGER : limit,
    ...pageEnds(s['messages.order'], time !== undefined),
    hasMore: s.hasMore,
    isEmptyWithBound: s['pages.hollow'],
  })
}

const messageBody: Readonly<Record<string, FieldKind>> = { content: 'text', senderName: 'text' }

function sendMessage(request: OperationRequest): Json {
  const body = readBody(request.body, messageBody)
  const conversation = findConversation(request)
  const { mutate, view, wire } = request.project
  const sent = mutate.replyArrives(conversation.id, String(body.content), String(body.senderName))
  return wire().message(conversation.id, view().asShown.message(conversation, sent))
}

function setHandled(request: OperationRequest): Json {
  const body = readBody(request.body, { handled: 'boolean' })
  const { id } = findConversation(request)
  const { mutate, view, wire } = request.project
  return wire().conversation(view().asShown.conversation(mutate.setHandled(id, body.handled === true)))
}
