/** The analytics rollup, one request per day. Its fields are undocumented. */
import { pathSegment } from '../core/path-segment.ts'
import { rfc3339 } from '../core/time.ts'
import type { DailyStream } from './stream.ts'

export const analytics: DailyStream = {
  kind: 'daily',
  name: 'analytics',
  scope: 'analytics:read',
  path: (project) => `/public/projects/${pathSegment(project)}/analytics`,
  parseRow: (item, { date, from, to }, timeZone, readAt) => ({
    columns: {
      window_from: rfc3339(from),
      window_to: rfc3339(to),
      day: date,
      time_zone: timeZone,
      read_at: rfc3339(readAt),
    },
    extraFields: new Map(),
    item,
  }),
}
