/** Conversations: the list of a project. It carries no message text. */
import type { Query } from '../core/call.ts'
import { stringifyJson } from '../core/json.ts'
import type { List } from '../core/walk/list.ts'
import { type Documented, fieldsOf, keyOf, timesOf, toRow } from './row.ts'
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
  path: `/public/projects/${encodeURIComponent(project)}/conversations`,
  query,
  lower: 'since',
  upper: null,
  documented: true,
  parts: query.handled === undefined ? [{ handled: true }, { handled: false }] : [],
  identify: (item) => id(item) ?? stringifyJson(item),
  times: timesOf,
})

export const conversations: ListStream = {
  kind: 'list',
  name: 'conversations',
  scope: 'conversations:read',
  list,
  one: (_project, id) => `/public/conversations/${encodeURIComponent(id)}`,
  rows: (items) =>
    readRows(items, (item) => {
      const [fields, key] = [fieldsOf(item), id(item)]
      return fields === null || key === null ? null : toRow(fields, documented, { id: key })
    }),
}

/** The open work: short however large the project is, and the one place where a handled flag shows. */
export const openConversations = (project: string): List => list(project, { handled: false })
