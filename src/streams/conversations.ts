/** Conversations: the list of a project. It carries no message text. */
import type { Query } from '../core/call.ts'
import { segment } from '../core/segment.ts'
import type { List } from '../core/walk/list.ts'
import { type Documented, identity, keyOf, timesOf, toRow } from './row.ts'
import { type ListStream, readRows } from './stream.ts'

const documented: Documented = {
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

const id = (item: Parameters<typeof keyOf>[0]) => keyOf(item, ['id', 'conversationid'])

const list = (project: string, query: Query = {}): List => ({
  name: 'conversations',
  path: `/public/projects/${segment(project)}/conversations`,
  query,
  lower: 'since',
  upper: null,
  documented: true,
  parts: query.handled === undefined ? [{ handled: true }, { handled: false }] : [],
  identify: (item) => identity(id(item), item),
  times: timesOf,
})

export const conversations: ListStream = {
  kind: 'list',
  name: 'conversations',
  scope: 'conversations:read',
  list,
  one: (_project, id) => `/public/conversations/${segment(id)}`,
  rows: (items, project = null) =>
    readRows(items, project, (item) => {
      const key = id(item)
      return key === null ? null : toRow(item, documented, { id: key })
    }),
}

/** The open work: short however large the project is, and the one place where a handled flag shows. */
export const openConversations = (project: string): List => list(project, { handled: false })
