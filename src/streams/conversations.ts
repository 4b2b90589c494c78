/** Conversations: a list of the project, without message texts. */
import type { QueryParams } from '../core/api-request.ts'
import type { ListEndpoint } from '../core/pagination/list-endpoint.ts'
import { pathSegment } from '../core/path-segment.ts'
import { type DocumentedFields, findKey, itemIdentity, timesIn, toRow } from './item.ts'
import { type ListStream, parseItems } from './stream.ts'

const documented: DocumentedFields = {
  id: ['id', 'text'],
  visitorId: ['visitor_id', 'text'],
  status: ['status', 'text'],
  createdAt: ['created_at', 'time'],
  lastMessageAt: ['last_message_at', 'time'],
  lastMessageSenderType: ['last_message_sender_type', 'text'],
  handledAt: ['handled_at', 'time'],
  waitingSince: ['waiting_since', 'time'],
  assignedAgentId: ['assigned_agent_id', 'text'],
  origin: ['origin', 'text'],
}

const itemId = (item: Parameters<typeof findKey>[0]) => findKey(item, ['id', 'conversationid'])

const conversationList = (project: string, query: QueryParams = {}): ListEndpoint => ({
  name: 'conversations',
  path: `/public/projects/${pathSegment(project)}/conversations`,
  query,
  lowerParam: 'since',
  upperParam: null,
  isDocumented: true,
  partitions: query.handled === undefined ? [{ handled: true }, { handled: false }] : [],
  identify: (item) => itemIdentity(itemId(item), item),
  times: timesIn,
})

export const conversations: ListStream = {
  kind: 'list',
  name: 'conversations',
  scope: 'conversations:read',
  list: conversationList,
  rowPath: (_project, id) => `/public/conversations/${pathSegment(id)}`,
  parseRows: (items, project = null) =>
    parseItems(items, project, (item) => {
      const key = itemId(item)
      return key === null ? null : toRow(item, documented, { id: key })
    }),
}

/** The open conversations: a short list even for large projects, and the only one that shows a changed handled flag. */
export const openConversationList = (project: string): ListEndpoint => conversationList(project, { handled: false })
