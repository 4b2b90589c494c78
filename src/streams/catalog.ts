/** All streams, by how they are read. */
import { analytics } from './analytics.ts'
import { availability } from './availability.ts'
import { callRecordings } from './call-recordings.ts'
import { calls } from './calls.ts'
import { conversations } from './conversations.ts'
import { messages } from './messages.ts'
import type { Stream } from './stream.ts'
import { visitorActivity } from './visitor-activity.ts'
import { visitors } from './visitors.ts'

export const listStreams = [conversations, visitors, calls] as const
export const childListStreams = [messages, visitorActivity] as const
export const childObjectStreams = [callRecordings] as const

export const allStreams: readonly Stream[] = [
  ...listStreams,
  ...childListStreams,
  ...childObjectStreams,
  analytics,
  availability,
]
