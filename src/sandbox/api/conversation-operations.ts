/** The five operations on conversations. */

import type { Json } from '../../core/row.ts'
import type { Conversation, Message } from '../model.ts'
import type { Switches } from '../switches.ts'
import type { Operation, OperationRequest } from './operation.ts'
import { type Page, takePage, toListData, toSingleRow } from './paging.ts'
import { Problem, requireFound } from './problem.ts'
import { createQueryReader, defaultPageSize, type FieldKind, readBody } from './read-request.ts'

export const conversationOperations: readonly Operation[] = [
  {
    id: 'listConversations',
    method: 'GET',
    path: '/public/projects/{projectId}/conversations',
    scope: 'conversations:read',
    query: ['handled', 'since', 'limit'],
    run: listConversations,
  },
  {
    id: 'getConversation',
    method: 'GET',
    path: '/public/conversations/{conversationId}',
    scope: 'conversations:read',
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
    run: sendMessage,
  },
  {
    id: 'setHandled',
    method: 'POST',
    path: '/public/conversations/{conversationId}/handled',
    scope: 'conversations:write',
    run: setHandled,
  },
]

function findConversation({ project, params }: OperationRequest): Conversation {
  return requireFound(project.view().find.conversation(params.conversationId ?? ''), 'conversation')
}

function listConversations({ project, query, switches: s }: OperationRequest): Json {
  const read = createQueryReader(query, s)
  const handled = read.flag('handled') ?? { all: undefined, open: false, handled: true }[s['conversations.handled']]
  const [since, limit] = [read.time('since', 'optional', s['conversations.bound']), read.limit(defaultPageSize)]
  read.throwIssues()
  const [view, wire] = [project.view(), project.wire()]
  const matches = (row: Conversation) => handled === undefined || (row.handledAt !== null) === handled
  const request = { since, sinceBound: s['conversations.bound'], limit, order: s['conversations.order'], matches }
  const page = takePage(view.conversations(s['conversations.since']), request, s)
  return toListData(page, (row) => wire.conversation(view.asListed.conversation(row)))
}

function messageParameters(s: Switches): readonly string[] {
  const paging = s['messages.paging']
  if (paging === 'all') return []
  return paging === 'limit' ? ['limit'] : [paging, 'limit']
}

function listMessages(request: OperationRequest): Json {
  const conversation = findConversation(request)
  // The first hexadecimal digits of an id are evenly spread.
  if (Number.parseInt(conversation.id.slice(0, 4), 16) / 0x10000 < request.switches['messages.forbidden'])
    throw new Problem('conversation_restricted', 'This conversation is restricted')
  const wire = request.project.wire()
  return toListData(takeMessagePage(request, conversation), (row: Message) => wire.message(conversation.id, row))
}

function takeMessagePage({ project, query, switches: s }: OperationRequest, conversation: Conversation): Page<Message> {
  const read = createQueryReader(query, s)
  const paging = s['messages.paging']
  const honoured = paging !== 'all' && s['messages.limit'] === 'honoured'
  const limit = honoured ? read.limit(s['messages.page']) : s['messages.page']
  const time =
    paging === 'since' || paging === 'before' ? read.time(paging, 'optional', s['messages.bound']) : undefined
  read.throwIssues()
  const [sinceBound, beforeBound] = [s['messages.bound'], s['messages.bound']]
  const bounds = paging === 'since' ? { since: time, sinceBound } : { before: time, beforeBound }
  const pageRequest = {
    ...bounds,
    limit: paging === 'all' ? Number.MAX_SAFE_INTEGER : limit,
    order: s['messages.order'],
  }
  return takePage(project.view().messages(conversation), pageRequest, s)
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
