/** Recording metadata, one call at a time. A recording can come long after its call. */

import { segment } from '../core/segment.ts'
import { day, hour, minute, rfc3339, type Seconds } from '../core/time.ts'
import { type Documented, toRow } from './row.ts'
import type { LeafStream } from './stream.ts'

const documented: Documented = { callId: ['call_id', 'text'], hasRecording: ['has_recording', 'boolean'] }

/** Looked for again while a call is younger than this. */
const hopeful = 7 * day

export const callRecordings: LeafStream = {
  kind: 'leaf',
  name: 'call_recordings',
  scope: 'calls:read',
  path: (call) => `/public/calls/${segment(call)}/recording`,
  row: (item, call, readAt) => {
    const own = { call_id: call, checked_at: rfc3339(readAt) }
    return toRow(item ?? {}, documented, item === null ? { ...own, has_recording: false } : own)
  },
  // Later and later: a recording that is not there after an hour is rarely there after two.
  again: (item, age: Seconds) => {
    if (item?.hasRecording === true || age > hopeful) return null
    return Math.max(15 * minute, Math.min(age, 6 * hour))
  },
}
