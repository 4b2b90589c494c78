/** What a visitor did: one visitor at a time, newest first. No field is documented, not even an id. */
import { hash } from 'node:crypto'
import { stringifyJson } from '../core/json.ts'
import { pathSegment } from '../core/path-segment.ts'
import type { Json } from '../core/row.ts'
import { asJsonObject, findKey, timesIn, toRow } from './item.ts'
import { occurredAt, occurredAtFields } from './occurred-at.ts'
import { type ChildListStream, parseItems } from './stream.ts'

/** An entry's own id where it has one, so that an entry that grows stays one row; else all that it says. */
function entryHash(item: Json): string {
  const id = findKey(item, ['id', 'entryid', 'activityid', 'uuid'])
  return hash('sha256', id === null ? stringifyJson(withSortedKeys(item)) : `id:${id}`)
}

function withSortedKeys(item: Json): Json {
  if (Array.isArray(item)) return item.map(withSortedKeys)
  const fields = asJsonObject(item)
  if (fields === null) return item
  return Object.fromEntries(
    Object.keys(fields)
      .sort()
      .map((name) => [name, withSortedKeys(fields[name] as Json)]),
  )
}

export const visitorActivity: ChildListStream = {
  kind: 'branch',
  name: 'visitor_activity',
  scope: 'visitors:read',
  list: (project, visitor) => ({
    name: 'visitor_activity',
    path: `/public/projects/${pathSegment(project)}/visitors/${pathSegment(visitor)}/activity`,
    query: {},
    lowerParam: null,
    upperParam: 'before',
    isDocumented: true,
    partitions: [],
    identify: entryHash,
    times: timesIn,
  }),
  // Two entries may be alike to the letter. Each answer shows a second whole, so counting within it tells them apart.
  parseRows: (items, visitor, { project = null, alike = new Map() } = {}) =>
    parseItems(items, project, (item) => {
      const entry = entryHash(item)
      const ordinal = alike.get(entry) ?? 0
      alike.set(entry, ordinal + 1)
      const own = { visitor_id: visitor, entry_hash: entry, ordinal, occurred_at: occurredAt(item) }
      return toRow(item, { ...occurredAtFields, visitorId: ['visitor_id', 'text'] }, own)
    }),
}
