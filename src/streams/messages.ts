/** Messages: one list per conversation. Its paging is undocumented. */
import { asJsonObject } from '../core/json.ts'
import { pathSegment } from '../core/path-segment.ts'
import { parseTime } from '../core/time.ts'
import { type DocumentedFields, findKey, itemIdentity, toRow } from './item.ts'
import { type ChildListStream, parseItems } from './stream.ts'

const documented: DocumentedFields = {
  id: ['id', 'integer'],
  conversationId: ['conversation_id', 'text'],
  senderType: ['sender_type', 'text'],
  kind: ['kind', 'text'],
  content: ['content', 'text'],
  senderDisplayName: ['sender_display_name', 'text'],
  createdAt: ['created_at', 'time'],
}

export const messages: ChildListStream = {
  kind: 'child-list',
  name: 'messages',
  scope: 'conversations:read',
  list: (_project, conversation) => ({
    name: 'messages',
    path: `/public/conversations/${pathSegment(conversation)}/messages`,
    query: {},
    lowerParam: 'since',
    upperParam: 'before',
    isDocumented: false,
    partitions: [],
    identify: (item) => itemIdentity(findKey(item, ['id']), item),
    times: (item) => {
      const at = parseTime(asJsonObject(item)?.createdAt)
      return at === undefined ? new Map() : new Map([['createdAt', at]])
    },
  }),
  parseRows: (items, conversation, { project = null } = {}) =>
    parseItems(items, project, (item) =>
      findKey(item, ['id']) === null ? null : toRow(item, documented, { conversation_id: conversation }),
    ),
}
