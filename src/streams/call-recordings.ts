/** Recording metadata, one call at a time. A recording can come long after its call. */

import { pathSegment } from '../core/path-segment.ts'
import { day, hour, minute, rfc3339, type Seconds } from '../core/time.ts'
import { type DocumentedFields, toRow } from './item.ts'
import type { ChildObjectStream } from './stream.ts'

const documented: DocumentedFields = { callId: ['call_id', 'text'], hasRecording: ['has_recording', 'boolean'] }

/** Looked for again while a call is younger than this. */
const recheckWindow = 7 * day

export const callRecordings: ChildObjectStream = {
  kind: 'leaf',
  name: 'call_recordings',
  scope: 'calls:read',
  path: (call) => `/public/calls/${pathSegment(call)}/recording`,
  parseRow: (item, call, readAt) => {
    const own = { call_id: call, checked_at: rfc3339(readAt) }
    return toRow(item ?? {}, documented, item === null ? { ...own, has_recording: false } : own)
  },
  // Later and later: a recording that is not there after an hour is rarely there after two.
  rereadAfter: (item, age: Seconds) => {
    if (item?.hasRecording === true || age > recheckWindow) return null
    return Math.max(15 * minute, Math.min(age, 6 * hour))
  },
}
