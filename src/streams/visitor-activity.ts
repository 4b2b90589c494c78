/** What a visitor did: one visitor at a time, newest first. No field is documented, not even an id. */
import { hash } from 'node:crypto'
import { stringifyJson } from '../core/json.ts'
import type { Json } from '../core/row.ts'
import { segment } from '../core/segment.ts'
import { occurredAt, occurredFields } from './occurred.ts'
import { fieldsOf, keyOf, timesOf, toRow } from './row.ts'
import { type BranchStream, readRows } from './stream.ts'

/** An entry's own id where it has one, so that an entry that grows stays one row; else all that it says. */
function entryHash(item: Json): string {
  const id = keyOf(item, ['id', 'entryid', 'activityid', 'uuid'])
  return hash('sha256', id === null ? stringifyJson(sorted(item)) : `id:${id}`)
}

function sorted(item: Json): Json {
  if (Array.isArray(item)) return item.map(sorted)
  const fields = fieldsOf(item)
  if (fields === null) return item
  return Object.fromEntries(
    Object.keys(fields)
      .sort()
      .map((name) => [name, sorted(fields[name] as Json)]),
  )
}

export const visitorActivity: BranchStream = {
  kind: 'branch',
  name: 'visitor_activity',
  scope: 'visitors:read',
  list: (project, visitor) => ({
    name: 'visitor_activity',
    path: `/public/projects/${segment(project)}/visitors/${segment(visitor)}/activity`,
    query: {},
    lower: null,
    upper: 'before',
    documented: true,
    parts: [],
    identify: entryHash,
    times: timesOf,
  }),
  // Two entries may be alike to the letter. Each answer shows a second whole, so counting within it tells them apart.
  rows: (items, visitor, { project = null, alike = new Map() } = {}) =>
    readRows(items, project, (item) => {
      const entry = entryHash(item)
      const ordinal = alike.get(entry) ?? 0
      alike.set(entry, ordinal + 1)
      const own = { visitor_id: visitor, entry_hash: entry, ordinal, occurred_at: occurredAt(item) }
      return toRow(item, { ...occurredFields, visitorId: ['visitor_id', 'text'] }, own)
    }),
}
