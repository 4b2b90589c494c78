/** The analytics rollup, a day at a time. Its fields are not documented. */
import { stringifyJson } from '../core/json.ts'
import { segment } from '../core/segment.ts'
import { rfc3339 } from '../core/time.ts'
import type { DailyStream } from './stream.ts'

export const analytics: DailyStream = {
  kind: 'daily',
  name: 'analytics',
  scope: 'analytics:read',
  path: (project) => `/public/projects/${segment(project)}/analytics`,
  row: (item, { date, from, to }, timeZone, readAt) => ({
    columns: {
      window_from: rfc3339(from),
      window_to: rfc3339(to),
      day: date,
      time_zone: timeZone,
      read_at: rfc3339(readAt),
    },
    extra: new Map(),
    raw: stringifyJson(item),
  }),
}
