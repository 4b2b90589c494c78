/** Small conversations of one day, written as a person would note them. */

import { createCalendar } from '../../../src/analytics/core/calendar.ts'
import { deriveConversationFacts } from '../../../src/analytics/core/conversation-facts.ts'
import type {
  AuthorRole,
  ConversationHistory,
  HistoryMessage,
} from '../../../src/analytics/core/handlings.ts'

/** A Monday, in UTC. */
const day = '2026-01-05'

/** `9:05` on that day. */
export function at(clock: string): number {
  return Date.parse(`${day}T${clock.padStart(5, '0')}:00Z`) / 1000
}

/** The clock time on that day; null stays null. */
export function clockOf(time: number | null): string | null {
  return time === null ? null : new Date(time * 1000).toISOString().slice(11, 16)
}

/** `9:05 human Anna`; `- visitor` has no time. Ids grow from one to the next. */
export type Line = string

export type ModelChange = {
  readonly old: string | null
  readonly new: string | null
  readonly seen: string
  readonly read?: string
  /** The last message that the copies before and after it named. */
  readonly last?: readonly [before: string | null, after: string | null]
}

export type ModelDay = {
  readonly lines?: readonly Line[]
  readonly created?: string | null
  readonly handled?: string | null
  readonly changes?: readonly ModelChange[]
  readonly agent?: string | null
  /** Changes of the agent. */
  readonly agents?: readonly ModelChange[]
  readonly isComplete?: boolean
}

export function historyOf({
  lines = [],
  created = '9:00',
  handled = null,
  changes = [],
  agent = null,
  agents = [],
  isComplete = true,
}: ModelDay) {
  const timeOf = (clock: string | null) => (clock === null ? null : at(clock))
  const history: ConversationHistory = {
    id: 'c1',
    visitorId: 'v1',
    origin: 'widget',
    assignedAgentId: agent,
    createdAt: timeOf(created),
    handledAt: timeOf(handled),
    isMessagesComplete: isComplete,
    messages: lines.map(messageOf),
    handledChanges: changes.map((change) => ({
      old: timeOf(change.old),
      new: timeOf(change.new),
      oldReadAt: change.read === undefined ? 0 : at(change.read),
      seenAt: at(change.seen),
      oldLastMessageAt: timeOf(change.last?.[0] ?? null),
      newLastMessageAt: timeOf(change.last?.[1] ?? null),
    })),
    assignmentChanges: agents.map(({ old, new: value, read, seen }) => ({
      old,
      new: value,
      oldReadAt: read === undefined ? 0 : at(read),
      seenAt: at(seen),
    })),
  }
  return history
}

function messageOf(line: Line, index: number): HistoryMessage {
  const [clock = '', role = '', name = ''] = line.split(' ')
  return { id: index + 1, at: clock === '-' ? null : at(clock), role: role as AuthorRole, name }
}

const work = [{ opens: 600, closes: 1080 }]
/** Business is open from 10:00 to 18:00. */
export const calendar = createCalendar({
  timeZone: 'UTC',
  hours: { 1: work, 2: work, 3: work, 4: work, 5: work },
  holidays: {},
})

/** The mirror began at midnight, unless it says otherwise. */
export function factsOf(conversation: ModelDay, mirroredSince = '0:00') {
  return deriveConversationFacts(historyOf(conversation), calendar, at(mirroredSince))
}
