/** Calls: a list of the project. No field is documented. */

import { pathSegment } from '../core/path-segment.ts'
import type { Json } from '../core/row.ts'
import { findKey, itemIdentity, timesIn, toRow } from './item.ts'
import { occurredAt, occurredAtFields } from './occurred-at.ts'
import { type ListStream, parseItems } from './stream.ts'

const itemId = (item: Json) => findKey(item, ['id', 'callid', 'uuid'])

export const calls: ListStream = {
  kind: 'list',
  name: 'calls',
  scope: 'calls:read',
  list: (project) => ({
    name: 'calls',
    path: `/public/projects/${pathSegment(project)}/calls`,
    query: {},
    lowerParam: 'from',
    upperParam: 'to',
    isDocumented: true,
    partitions: [],
    identify: (item) => itemIdentity(itemId(item), item),
    times: timesIn,
  }),
  rowPath: (_project, id) => `/public/calls/${pathSegment(id)}`,
  parseRows: (items, project = null) =>
    parseItems(items, project, (item) => {
      const key = itemId(item)
      const own = { id: key, occurred_at: occurredAt(item) }
      return key === null ? null : toRow(item, { ...occurredAtFields, id: ['id', 'text'] }, own)
    }),
}
