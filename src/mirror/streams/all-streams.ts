/** All streams, in the order in which a sync reads them. Those that are no list are here. */

import { isChildStream, type StreamName } from '../../../schema/stream-specs.ts'
import { pathSegment } from '../../service/core/path-segment.ts'
import { asJsonObject } from '../../values/json.ts'
import { daySeconds, hourSeconds, minuteSeconds, rfc3339, type Seconds } from '../../values/time.ts'
import { type DocumentedFields, toRow } from './item.ts'
import { listStreams } from './list-streams.ts'
import { messages } from './messages.ts'
import type { ChildObjectStream, DailyStream, SnapshotStream, Stream } from './stream.ts'
import { visitorActivity } from './visitor-activity.ts'

/** Recording metadata, one request per call. A recording can appear long after its call. */
const recordingFields: DocumentedFields = { callId: ['call_id', 'text'], hasRecording: ['has_recording', 'boolean'] }

/** Up to this age of the call, a missing recording is requested again. */
const recheckWindowSeconds = 7 * daySeconds

export const callRecordings: ChildObjectStream = {
  kind: 'child-object',
  name: 'call_recordings',
  scope: 'calls:read',
  path: (call) => `/public/calls/${pathSegment(call)}/recording`,
  parseRow: (item, call, readAt) => {
    const own = { call_id: call, checked_at: rfc3339(readAt) }
    return toRow(item ?? {}, recordingFields, item === null ? { ...own, has_recording: false } : own)
  },
  // The intervals grow: a recording that is missing after an hour is rarely there after two.
  rereadAfter: (item, age: Seconds) => {
    if (item?.hasRecording === true || age > recheckWindowSeconds) return null
    return Math.max(15 * minuteSeconds, Math.min(age, 6 * hourSeconds))
  },
}

/** The current availability of agents. The service keeps no history, so only snapshots can provide one. */
const availabilityFields: DocumentedFields = {
  available: ['available', 'boolean'],
  agentsOnline: ['agents_online', 'integer'],
}

export const availability: SnapshotStream = {
  kind: 'snapshot',
  name: 'availability',
  scope: 'availability:read',
  path: (project) => `/public/projects/${pathSegment(project)}/availability`,
  parseRow: (item, readAt) => toRow(asJsonObject(item) ?? {}, availabilityFields, { taken_at: rfc3339(readAt) }),
}

/** The analytics rollup, one request per day. Its fields are undocumented. */
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

const streams = {
  availability,
  ...listStreams,
  messages,
  visitor_activity: visitorActivity,
  call_recordings: callRecordings,
  analytics,
} satisfies Record<StreamName, Stream>

export const allStreams: readonly Stream[] = Object.values(streams)
export const childStreams = allStreams.filter(({ name }) => isChildStream(name))
