/** The activity of visitors: one list per visitor, newest first. No field is documented, not even an id. */

import { pathSegment } from '../../service/core/path-segment.ts'
import type { Json } from '../../values/json.ts'
import { activityKey, contentHash, entryId } from '../core/activity-key.ts'
import { occurredAt, timesIn } from '../core/item-fields.ts'
import { occurredAtFields, toRow } from './item.ts'
import { type ChildListStream, parseItems } from './stream.ts'

export const visitorActivity: ChildListStream = {
  kind: 'child-list',
  name: 'visitor_activity',
  scope: 'visitors:read',
  parentShowsNewest: false,
  isNumbered: true,
  list: (project, visitor) => ({
    name: 'visitor_activity',
    path: `/public/projects/${pathSegment(project)}/visitors/${pathSegment(visitor)}/activity`,
    query: {},
    lowerParam: null,
    upperParam: 'before',
    isDocumented: true,
    partitions: [],
    identify: (item) => activityKey(item, occurredAt(item)),
    times: timesIn,
  }),
  parseRows: (items, visitor, { project = null, duplicateCounts = new Map() } = {}) => {
    const distinct = items.filter((item) => !isRepeated(item, duplicateCounts))
    return parseItems(distinct, project, (item) => {
      const at = occurredAt(item)
      const key = activityKey(item, at)
      const ordinal = countDuplicate(duplicateCounts, key)
      const own = { visitor_id: visitor, entry_hash: key, ordinal, occurred_at: at }
      return toRow(item, { ...occurredAtFields, visitorId: ['visitor_id', 'text'] }, own)
    })
  },
}

/** An entry with an id that a page shows twice, alike, is one entry. Without an id, it may be two. */
function isRepeated(item: Json, counts: Map<string, number>): boolean {
  return entryId(item) !== null && countDuplicate(counts, `content:${contentHash(item)}`) > 0
}

/** How many there were before this one. */
function countDuplicate(counts: Map<string, number>, key: string): number {
  const before = counts.get(key) ?? 0
  counts.set(key, before + 1)
  return before
}
