/** Every stream, by how it is read. */
import { analytics } from './analytics.ts'
import { availability } from './availability.ts'
import { callRecordings } from './call-recordings.ts'
import { calls } from './calls.ts'
import { conversations } from './conversations.ts'
import { messages } from './messages.ts'
import type { Stream } from './stream.ts'
import { visitorActivity } from './visitor-activity.ts'
import { visitors } from './visitors.ts'

export const lists = [conversations, visitors, calls] as const
export const branches = [messages, visitorActivity] as const
export const leaves = [callRecordings] as const

export const catalog: readonly Stream[] = [...lists, ...branches, ...leaves, analytics, availability]
