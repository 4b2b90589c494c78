/** The activity of visitors: one list per visitor, newest first. No field is documented, not even an id. */
import { hash } from 'node:crypto'
import { asJsonObject, stringifyJson } from '../core/json.ts'
import { pathSegment } from '../core/path-segment.ts'
import type { Json } from '../core/row.ts'
import { findKey, timesIn, toRow } from './item.ts'
import { occurredAt, occurredAtFields } from './occurred-at.ts'
import { type ChildListStream, parseItems } from './stream.ts'

/** A hash of the entry's id, so that a changed entry stays one row; without an id, a hash of the whole entry. */
function entryHash(item: Json): string {
  const id = findKey(item, ['id', 'entryid', 'activityid', 'uuid'])
  return hash('sha256', id === null ? stringifyJson(withSortedKeys(item)) : `id:${id}`)
}

function withSortedKeys(item: Json): Json {
  if (Array.isArray(item)) return item.map(withSortedKeys)
  const fields = asJsonObject(item)
  if (fields === null) return item
  const names = Object.keys(fields).sort()
  return Object.fromEntries(names.map((name) => [name, withSortedKeys(fields[name] as Json)]))
}

export const visitorActivity: ChildListStream = {
  kind: 'child-list',
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
  // Entries may be identical. A response contains every entry of a second, so numbering within it is stable.
  parseRows: (items, visitor, { project = null, duplicateCounts = new Map() } = {}) =>
    parseItems(items, project, (item) => {
      const entry = entryHash(item)
      const ordinal = duplicateCounts.get(entry) ?? 0
      duplicateCounts.set(entry, ordinal + 1)
      const own = { visitor_id: visitor, entry_hash: entry, ordinal, occurred_at: occurredAt(item) }
      return toRow(item, { ...occurredAtFields, visitorId: ['visitor_id', 'text'] }, own)
    }),
}
