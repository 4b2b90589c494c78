/** Messages: one list per conversation. Its paging is undocumented. */

import type { MirrorRow } from '../../../schema/row.ts'
import { pathSegment } from '../../service/core/path-segment.ts'
import { asJsonObject, type JsonObject } from '../../values/json.ts'
import { parseTime } from '../../values/time.ts'
import { findKey } from '../core/item-fields.ts'
import { fieldsNotInColumns, messageFields } from '../core/message-fields.ts'
import { itemIdentity, toRow } from './item.ts'
import { type ChildListStream, parseItems } from './stream.ts'

export const messages: ChildListStream = {
  kind: 'child-list',
  name: 'messages',
  scope: 'conversations:read',
  parentShowsNewest: true,
  isNumbered: false,
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
    parseItems(items, project, (item) => (findKey(item, ['id']) === null ? null : toMessage(item, conversation))),
}

function toMessage(item: JsonObject, conversation: string): MirrorRow {
  const row = toRow(item, messageFields, { conversation_id: conversation })
  return { ...row, storedRaw: fieldsNotInColumns(item, row.columns) }
}
