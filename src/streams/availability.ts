/** The current availability of agents. The service keeps no history, so only snapshots can provide one. */
import { asJsonObject } from '../core/json.ts'
import { pathSegment } from '../core/path-segment.ts'
import { rfc3339 } from '../core/time.ts'
import { type DocumentedFields, toRow } from './item.ts'
import type { SnapshotStream } from './stream.ts'

const documented: DocumentedFields = { available: ['available', 'boolean'], agentsOnline: ['agents_online', 'integer'] }

export const availability: SnapshotStream = {
  kind: 'snapshot',
  name: 'availability',
  scope: 'availability:read',
  path: (project) => `/public/projects/${pathSegment(project)}/availability`,
  parseRow: (item, readAt) => toRow(asJsonObject(item) ?? {}, documented, { taken_at: rfc3339(readAt) }),
}
