/** All streams, in the order in which a sync reads them. */
import { isChildStream, type StreamName } from '../core/stream-specs.ts'
import { analytics } from './analytics.ts'
import { availability } from './availability.ts'
import { callRecordings } from './call-recordings.ts'
import { listStreams } from './list-streams.ts'
import { messages } from './messages.ts'
import type { Stream } from './stream.ts'
import { visitorActivity } from './visitor-activity.ts'

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
