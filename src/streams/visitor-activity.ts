/** The activity of visitors: one list per visitor, newest first. No field is documented, not even an id. */
import { activityKey } from '../core/activity-key.ts'
import { timesIn } from '../core/item-fields.ts'
import { occurredAt } from '../core/occurred-at.ts'
import { pathSegment } from '../core/path-segment.ts'
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
  parseRows: (items, visitor, { project = null, duplicateCounts = new Map() } = {}) =>
    parseItems(items, project, (item) => {
      const at = occurredAt(item)
      const key = activityKey(item, at)
      const ordinal = duplicateCounts.get(key) ?? 0
      duplicateCounts.set(key, ordinal + 1)
      const own = { visitor_id: visitor, entry_hash: key, ordinal, occurred_at: at }
      return toRow(item, { ...occurredAtFields, visitorId: ['visitor_id', 'text'] }, own)
    }),
}
