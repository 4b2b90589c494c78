/** Recording metadata, one request per call. A recording can appear long after its call. */
import { pathSegment } from '../core/path-segment.ts'
import { daySeconds, hourSeconds, minuteSeconds, rfc3339, type Seconds } from '../core/time.ts'
import { type DocumentedFields, toRow } from './item.ts'
import type { ChildObjectStream } from './stream.ts'

const documented: DocumentedFields = { callId: ['call_id', 'text'], hasRecording: ['has_recording', 'boolean'] }

/** Up to this age of the call, a missing recording is requested again. */
const recheckWindowSeconds = 7 * daySeconds

export const callRecordings: ChildObjectStream = {
  kind: 'child-object',
  name: 'call_recordings',
  scope: 'calls:read',
  path: (call) => `/public/calls/${pathSegment(call)}/recording`,
  parseRow: (item, call, readAt) => {
    const own = { call_id: call, checked_at: rfc3339(readAt) }
    return toRow(item ?? {}, documented, item === null ? { ...own, has_recording: false } : own)
  },
  // The intervals grow: a recording that is missing after an hour is rarely there after two.
  rereadAfter: (item, age: Seconds) => {
    if (item?.hasRecording === true || age > recheckWindowSeconds) return null
    return Math.max(15 * minuteSeconds, Math.min(age, 6 * hourSeconds))
  },
}
