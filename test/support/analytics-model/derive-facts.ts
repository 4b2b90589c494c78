/** The program's derivations, applied to the rows of a world without a database. */

import { deriveAvailabilityHours } from '../../../src/analytics/core/availability-hours.ts'
import { createCalendar } from '../../../src/analytics/core/calendar.ts'
import { deriveConversationFacts } from '../../../src/analytics/core/conversation-facts.ts'
import type { ConversationHistory, HandledChange } from '../../../src/analytics/core/handlings.ts'
import { deriveVisits } from '../../../src/analytics/core/visits.ts'
import type { AnalyticsSettings } from '../../../src/config/analytics-settings.ts'
import type { OpeningHours } from '../../../src/config/business-hours.ts'
import { toMinutes } from './local-clock.ts'
import {
  type ActivityRow,
  type ChangeRow,
  type ModelSettings,
  type OpenHours,
  type ProjectRows,
  type RawConversation,
  seconds,
} from './raw-rows.ts'

const secondsOrNull = (time: string | null): number | null => (time === null ? null : seconds(time))

export function deriveFacts(rows: ProjectRows) {
  const settings = toAnalyticsSettings(rows.settings)
  const calendar = createCalendar({ ...settings, timeZone: rows.settings.timeZone })
  const facts = rows.conversations
    .filter(({ deleted_at }) => deleted_at === null)
    .map((row) =>
      deriveConversationFacts(toHistory(row, rows), calendar, seconds(rows.settings.mirroredSince)),
    )
  const snapshots = rows.snapshots.map((row) => ({
    at: seconds(row.read_at),
    available: row.available,
    agentsOnline: row.agents_online,
  }))
  return {
    fct_wait: facts.flatMap(({ waits }) => waits),
    fct_state: facts.flatMap(({ states }) => states),
    fct_assignment: facts.flatMap(({ assignments }) => assignments),
    fct_contribution: facts.flatMap(({ contributions }) => contributions),
    fct_conversation: facts.map(({ conversation }) => conversation),
    fct_availability_hour: deriveAvailabilityHours(
      snapshots,
      settings.availabilityHoldSeconds,
      calendar,
    ),
    fct_visit: deriveVisits(toEntries(rows.activity), settings.visitGapSeconds, calendar),
  }
}

function toHistory(
  row: RawConversation,
  { messages, changes, settings }: ProjectRows,
): ConversationHistory {
  return {
    id: row.id,
    visitorId: row.visitor_id,
    origin: row.origin,
    assignedAgentId: row.assigned_agent_id,
    createdAt: secondsOrNull(row.created_at),
    handledAt: secondsOrNull(row.handled_at),
    isMessagesComplete: row.messages_complete === true,
    messages: messages
      .filter(
        ({ conversation_id, deleted_at }) => conversation_id === row.id && deleted_at === null,
      )
      .map((message) => ({
        id: message.id,
        at: secondsOrNull(message.created_at),
        role:
          message.kind === 'utterance'
            ? (settings.roles[message.sender_type ?? ''] ?? 'other')
            : 'event',
        name: message.sender_display_name ?? '',
      })),
    handledChanges: toHandledChanges(row, changes),
    assignmentChanges: changes
      .filter(
        ({ conversation_id, field }) => conversation_id === row.id && field === 'assigned_agent_id',
      )
      .map(({ old_value, new_value, old_read_at, seen_at }) => ({
        old: old_value,
        new: new_value,
        oldReadAt: seconds(old_read_at),
        seenAt: seconds(seen_at),
      })),
  }
}

function toHandledChanges(row: RawConversation, changes: readonly ChangeRow[]) {
  const own = changes.filter(({ conversation_id }) => conversation_id === row.id)
  const firstLastMessage = own.find(({ field }) => field === 'last_message_at')
  let lastMessageAt =
    firstLastMessage === undefined ? row.last_message_at : firstLastMessage.old_value
  const found: HandledChange[] = []
  for (const [seenAt, ofOneCopy] of Map.groupBy(own, ({ seen_at }) => seen_at)) {
    const before = lastMessageAt
    for (const { field, new_value } of ofOneCopy)
      if (field === 'last_message_at') lastMessageAt = new_value
    for (const { field, old_value, new_value, old_read_at } of ofOneCopy)
      if (field === 'handled_at')
        found.push({
          old: secondsOrNull(old_value),
          new: secondsOrNull(new_value),
          oldReadAt: seconds(old_read_at),
          seenAt: seconds(seenAt),
          oldLastMessageAt: secondsOrNull(before),
          newLastMessageAt: secondsOrNull(lastMessageAt),
        })
  }
  return found
}

function toEntries(activity: readonly ActivityRow[]) {
  const entries = activity.flatMap(({ visitor_id, occurred_at, deleted_at, page, entry_hash }) =>
    occurred_at === null || deleted_at !== null
      ? []
      : [{ visitorId: visitor_id, at: seconds(occurred_at), page, entry_hash }],
  )
  return entries.toSorted((a, b) => (a.entry_hash < b.entry_hash ? -1 : 1))
}

export function toAnalyticsSettings({
  roles,
  weekly,
  holidays,
  targets,
}: ModelSettings): AnalyticsSettings {
  return {
    roles,
    hours: weekly === null ? null : mapValues(weekly, toOpeningHours),
    holidays: mapValues(holidays, toOpeningHours),
    visitGapSeconds: 1800,
    availabilityHoldSeconds: 600,
    targets: targets.map(({ name, clock, which, seconds: withinSeconds, hours, from }) => ({
      name,
      clock,
      which,
      withinSeconds,
      inBusinessHours: hours === 'business',
      from,
      to: null,
    })),
    calls: {
      visitor: null,
      ended: null,
      outcome: null,
      duration: null,
      direction: null,
      agent: null,
    },
    fields: { activityKind: null, activityPage: 'url' },
    personalData: true,
  }
}

function mapValues<From, To>(
  record: Readonly<Record<string, From>>,
  map: (value: From) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]))
}

function toOpeningHours(hours: readonly OpenHours[]): OpeningHours[] {
  return hours.map(([opens, closes]) => ({ opens: toMinutes(opens), closes: toMinutes(closes) }))
}
