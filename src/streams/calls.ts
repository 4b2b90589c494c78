/** Calls: the list of a project. No field is documented. */
import type { Json } from '../core/row.ts'
import { segment } from '../core/segment.ts'
import { occurredAt, occurredFields } from './occurred.ts'
import { identity, keyOf, timesOf, toRow } from './row.ts'
import { type ListStream, readRows } from './stream.ts'

const id = (item: Json) => keyOf(item, ['id', 'callid', 'uuid'])

export const calls: ListStream = {
  kind: 'list',
  name: 'calls',
  scope: 'calls:read',
  list: (project) => ({
    name: 'calls',
    path: `/public/projects/${segment(project)}/calls`,
    query: {},
    lower: 'from',
    upper: 'to',
    documented: true,
    parts: [],
    identify: (item) => identity(id(item), item),
    times: timesOf,
  }),
  one: (_project, id) => `/public/calls/${segment(id)}`,
  rows: (items, project = null) =>
    readRows(items, project, (item) => {
      const key = id(item)
      const own = { id: key, occurred_at: occurredAt(item) }
      return key === null ? null : toRow(item, { ...occurredFields, id: ['id', 'text'] }, own)
    }),
}
