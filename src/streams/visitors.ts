/** Visitors: the list of a project. Beyond name and email no field is documented. */
import { stringifyJson } from '../core/json.ts'
import type { Json } from '../core/row.ts'
import { type Documented, fieldsOf, keyOf, timesOf, toRow } from './row.ts'
import { type ListStream, readRows } from './stream.ts'

const documented: Documented = { name: ['name', 'text'], email: ['email', 'text'] }

const id = (item: Json) => keyOf(item, ['id', 'visitorid', 'uuid'])

export const visitors: ListStream = {
  kind: 'list',
  name: 'visitors',
  scope: 'visitors:read',
  list: (project) => ({
    name: 'visitors',
    path: `/public/projects/${encodeURIComponent(project)}/visitors`,
    query: {},
    lower: 'since',
    upper: null,
    documented: true,
    parts: [],
    identify: (item) => id(item) ?? stringifyJson(item),
    times: timesOf,
  }),
  one: (project, id) => `/public/projects/${encodeURIComponent(project)}/visitors/${encodeURIComponent(id)}`,
  rows: (items) =>
    readRows(items, (item) => {
      const [fields, key] = [fieldsOf(item), id(item)]
      return fields === null || key === null ? null : toRow(fields, { ...documented, id: ['id', 'text'] }, { id: key })
    }),
}
