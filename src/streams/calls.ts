/** Calls: the list of a project. No field is documented. */
import { stringifyJson } from '../core/json.ts'
import type { Json } from '../core/row.ts'
import { occurredAt, occurredFields } from './occurred.ts'
import { fieldsOf, keyOf, timesOf, toRow } from './row.ts'
import { type ListStream, readRows } from './stream.ts'

const id = (item: Json) => keyOf(item, ['id', 'callid', 'uuid'])

export const calls: ListStream = {
  kind: 'list',
  name: 'calls',
  scope: 'calls:read',
  list: (project) => ({
    name: 'calls',
    path: `/public/projects/${encodeURIComponent(project)}/calls`,
    query: {},
    lower: 'from',
    upper: 'to',
    documented: true,
    parts: [],
    identify: (item) => id(item) ?? stringifyJson(item),
    times: timesOf,
  }),
  one: (_project, id) => `/public/calls/${encodeURIComponent(id)}`,
  rows: (items) =>
    readRows(items, (item) => {
      const [fields, key] = [fieldsOf(item), id(item)]
      if (fields === null || key === null) return null
      return toRow(fields, { ...occurredFields, id: ['id', 'text'] }, { id: key, occurred_at: occurredAt(item) })
    }),
}
