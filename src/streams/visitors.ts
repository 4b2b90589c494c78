/** Visitors: the list of a project. Beyond name and email no field is documented. */
import type { Json } from '../core/row.ts'
import { segment } from '../core/segment.ts'
import { type Documented, identity, keyOf, timesOf, toRow } from './row.ts'
import { type ListStream, readRows } from './stream.ts'

const documented: Documented = { name: ['name', 'text'], email: ['email', 'text'] }

const id = (item: Json) => keyOf(item, ['id', 'visitorid', 'uuid'])

export const visitors: ListStream = {
  kind: 'list',
  name: 'visitors',
  scope: 'visitors:read',
  list: (project) => ({
    name: 'visitors',
    path: `/public/projects/${segment(project)}/visitors`,
    query: {},
    lower: 'since',
    upper: null,
    documented: true,
    parts: [],
    identify: (item) => identity(id(item), item),
    times: timesOf,
  }),
  one: (project, id) => `/public/projects/${segment(project)}/visitors/${segment(id)}`,
  rows: (items, project = null) =>
    readRows(items, project, (item) => {
      const key = id(item)
      return key === null ? null : toRow(item, { ...documented, id: ['id', 'text'] }, { id: key })
    }),
}
