/** Which agents are there right now. The service keeps no history of it: a snapshot not taken is lost. */

import { segment } from '../core/segment.ts'
import { rfc3339 } from '../core/time.ts'
import { type Documented, fieldsOf, toRow } from './row.ts'
import type { MomentStream } from './stream.ts'

const documented: Documented = { available: ['available', 'boolean'], agentsOnline: ['agents_online', 'integer'] }

export const availability: MomentStream = {
  kind: 'moment',
  name: 'availability',
  scope: 'availability:read',
  path: (project) => `/public/projects/${segment(project)}/availability`,
  row: (item, readAt) => toRow(fieldsOf(item) ?? {}, documented, { taken_at: rfc3339(readAt) }),
}
