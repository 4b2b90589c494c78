/** Messages: one conversation at a time. How the service pages them is not documented. */
import { segment } from '../core/segment.ts'
import { moment } from '../core/time.ts'
import { type Documented, fieldsOf, identity, keyOf, toRow } from './row.ts'
import { type BranchStream, readRows } from './stream.ts'

const documented: Documented = {
  id: ['id', 'integer'],
  conversationId: ['conversation_id', 'text'],
  senderType: ['sender_type', 'text'],
  kind: ['kind', 'text'],
  content: ['content', 'text'],
  senderDisplayName: ['sender_display_name', 'text'],
  createdAt: ['created_at', 'time'],
}

export const messages: BranchStream = {
  kind: 'branch',
  name: 'messages',
  scope: 'conversations:read',
  list: (_project, conversation) => ({
    name: 'messages',
    path: `/public/conversations/${segment(conversation)}/messages`,
    query: {},
    lower: 'since',
    upper: 'before',
    documented: false,
    parts: [],
    identify: (item) => identity(keyOf(item, ['id']), item),
    times: (item) => {
      const at = moment(fieldsOf(item)?.createdAt)
      return at === undefined ? new Map() : new Map([['createdAt', at]])
    },
  }),
  rows: (items, conversation, { project = null } = {}) =>
    readRows(items, project, (item) =>
      keyOf(item, ['id']) === null ? null : toRow(item, documented, { conversation_id: conversation }),
    ),
}
