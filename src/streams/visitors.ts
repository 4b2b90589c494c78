/** Visitors: a list of the project. Only the name and the email are documented. */
import { pathSegment } from '../core/path-segment.ts'
import type { Json } from '../core/row.ts'
import { type DocumentedFields, findKey, itemIdentity, timesIn, toRow } from './item.ts'
import { type ListStream, parseItems } from './stream.ts'

const documented: DocumentedFields = { name: ['name', 'text'], email: ['email', 'text'] }

const itemId = (item: Json) => findKey(item, ['id', 'visitorid', 'uuid'])

export const visitors: ListStream = {
  kind: 'list',
  name: 'visitors',
  scope: 'visitors:read',
  list: (project) => ({
    name: 'visitors',
    path: `/public/projects/${pathSegment(project)}/visitors`,
    query: {},
    lowerParam: 'since',
    upperParam: null,
    isDocumented: true,
    partitions: [],
    identify: (item) => itemIdentity(itemId(item), item),
    times: timesIn,
  }),
  rowPath: (project, id) => `/public/projects/${pathSegment(project)}/visitors/${pathSegment(id)}`,
  parseRows: (items, project = null) =>
    parseItems(items, project, (item) => {
      const key = itemId(item)
      return key === null ? null : toRow(item, { ...documented, id: ['id', 'text'] }, { id: key })
    }),
}
