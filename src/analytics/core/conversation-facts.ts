/** All facts of one conversation, derived from its stored rows. */
import { datePartsOf, dayNumber } from '../../values/days.ts'
import type { EpochSeconds } from '../../values/time.ts'
import { deriveAssignments } from './assignments.ts'
import { type Calendar, localTime } from './calendar.ts'
import {
  type AuthorRole,
  type ConversationHistory,
  type FlagChange,
  handledHistory,
  reopeningsByFlag,
  type TimedMessage,
} from './handlings.ts'
import { deriveWaits, messagesInOrder, turnsOf } from './waits.ts'

/** `mirroredSince`: since when changes of the project's conversations are watched. */
export function deriveConversationFacts(
  history: ConversationHistory,
  calendar: Calendar,
  mirroredSince: EpochSeconds,
) {
  const { id, createdAt, handledAt } = history
  const messages = messagesInOrder(history.messages)
  const { flagChanges, handlings } = handledHistory(history, messages, mirroredSince)
  const turns = turnsOf(messages, handlings)
  const states = deriveStates(history, flagChanges, calendar)
  const waitingTurns = turnsOf(messages, handlings, reopeningsByFlag(flagChanges))
  const waits = deriveWaits({ id, turns: waitingTurns, states }, calendar)

  const created = localTime(calendar, createdAt)
  const handled = localTime(calendar, handledAt)
  const humanTurns = turns.filter(({ role }) => role === 'human')
  const lastTurn = turns.at(-1)
  const firstHuman = humanTurns[0]
  const lastHuman = humanTurns.at(-1)
  const lastWait = waits.at(-1)
  const answered = waits.find(({ answer_seconds }) => answer_seconds !== null)
  const answeredByHuman = waits.find(({ human_seconds }) => human_seconds !== null)
  const firstHumanDate = answeredByHuman?.human_answered_date ?? null
  const firstHumanDay = firstHumanDate === null ? null : datePartsOf(dayNumber(firstHumanDate))
  const reopenings = states.filter(
    ({ state, state_number }) => state === 'open' && state_number > 1,
  ).length
  const firstHandledAt = states.find(({ state }) => state === 'handled')?.from_at ?? null
  const historyFrom = Math.max(createdAt ?? mirroredSince, mirroredSince)
  const isTimed = createdAt !== null && handledAt !== null
  const conversation = {
    conversation_id: id,
    visitor_id: history.visitorId,
    origin: history.origin,
    assigned_agent_id: history.assignedAgentId,
    created_at: createdAt,
    created_date: created.date,
    created_hour: created.hour,
    is_open: handledAt === null,
    ...messageColumns(history, messages.length),
    opened_by: turns[0]?.role ?? null,
    human_turns: humanTurns.length,
    first_visitor_at: turns.find(({ role }) => role === 'visitor')?.startedAt ?? null,
    last_visitor_at: turns.findLast(({ role }) => role === 'visitor')?.endedAt ?? null,
    human_span_seconds: firstHuman && lastHuman ? lastHuman.endedAt - firstHuman.startedAt : null,
    last_human_name: lastHuman?.lastName ?? null,
    last_utterance_at: lastTurn?.endedAt ?? null,
    last_utterance_by: lastTurn?.role ?? null,
    waits: waits.length,
    first_answer_seconds: answered?.answer_seconds ?? null,
    first_answer_business_seconds: answered?.answer_business_seconds ?? null,
    first_human_at: answeredByHuman?.human_answered_at ?? null,
    first_human_date: firstHumanDate,
    first_human_week: firstHumanDay?.week ?? null,
    first_human_month: firstHumanDay?.month ?? null,
    first_human_name: answeredByHuman?.human_name ?? null,
    first_human_seconds: answeredByHuman?.human_seconds ?? null,
    first_human_business_seconds: answeredByHuman?.human_business_seconds ?? null,
    waiting_since:
      handledAt === null && lastWait?.ended_by === 'nobody' ? lastWait.started_at : null,
    longest_wait_seconds: combined(waits, 'answer_seconds', Math.max),
    total_wait_seconds: combined(waits, 'answer_seconds', (sum, seconds) => sum + seconds),
    total_human_wait_seconds: combined(waits, 'human_seconds', (sum, seconds) => sum + seconds),
    handled_at: handledAt,
    handled_date: handled.date,
    handled_seconds: isTimed ? handledAt - createdAt : null,
    handled_business_seconds: isTimed ? calendar.businessSeconds(createdAt, handledAt) : null,
    first_handled_at: firstHandledAt,
    first_handled_seconds:
      firstHandledAt !== null && createdAt !== null ? firstHandledAt - createdAt : null,
    reopens_seen: reopenings,
    history_from: historyFrom,
    history_complete: createdAt !== null && createdAt >= mirroredSince,
    is_one_touch: handledAt !== null && humanTurns.length === 1 && reopenings === 0,
  }
  return {
    conversation,
    waits,
    states,
    assignments: deriveAssignments(history, historyFrom, calendar),
    contributions: deriveContributions(id, messages, calendar),
  }
}

/** Counts every message, also those without a time. */
function messageColumns(
  { messages, isMessagesComplete }: ConversationHistory,
  timedMessages: number,
) {
  const count: Record<AuthorRole, number> = { visitor: 0, human: 0, ai: 0, other: 0, event: 0 }
  for (const { role } of messages) count[role]++
  return {
    is_complete: isMessagesComplete && timedMessages === messages.length && count.other === 0,
    answered_by: answeredBy(count.human > 0, count.ai > 0),
    messages: messages.length,
    visitor_messages: count.visitor,
    human_messages: count.human,
    ai_messages: count.ai,
    other_messages: count.other,
    system_events: count.event,
    human_names: new Set(messages.flatMap(({ role, name }) => (role === 'human' ? [name] : [])))
      .size,
  }
}

function answeredBy(hasHuman: boolean, hasAi: boolean) {
  if (hasHuman) return hasAi ? 'human and ai' : 'human'
  return hasAi ? 'ai' : 'nobody'
}

/** Null without an answer. */
function combined(
  waits: ReturnType<typeof deriveWaits>,
  column: 'answer_seconds' | 'human_seconds',
  combine: (a: number, b: number) => number,
): number | null {
  return waits.reduce<number | null>((all, { [column]: seconds }) => {
    return all === null || seconds === null ? (all ?? seconds) : combine(all, seconds)
  }, null)
}

/** How many messages each writer wrote on each day; `messages`: in order. */
function deriveContributions(id: string, messages: readonly TimedMessage[], calendar: Calendar) {
  const rowOf = ({ at, role, name }: TimedMessage) => {
    const shownName = role === 'human' || role === 'ai' ? name : ''
    return {
      conversation_id: id,
      date: calendar.dateOf(at),
      role,
      name: shownName,
      messages: 1,
      first_at: at,
    }
  }
  const rows: ReturnType<typeof rowOf>[] = []
  for (const message of messages) {
    const added = rowOf(message)
    // Its row is nearly always among the last ones.
    const known = rows.findLast(
      ({ role, date, name }) => role === added.role && date === added.date && name === added.name,
    )
    if (known === undefined) rows.push(added)
    else known.messages++
  }
  return rows
}

/** None for a conversation without a creation time. */
function deriveStates(
  { id, createdAt }: ConversationHistory,
  flagChanges: readonly FlagChange[],
  calendar: Calendar,
) {
  if (createdAt === null) return []
  const created: FlagChange = {
    at: Math.min(createdAt, flagChanges[0]?.at ?? createdAt),
    by: 'created',
  }
  return [created, ...flagChanges].map(({ at, by }, index) => {
    const to = flagChanges[index]?.at ?? null
    return {
      conversation_id: id,
      state_number: index + 1,
      state: index % 2 === 0 ? ('open' as const) : ('handled' as const),
      from_at: at,
      from_date: calendar.dateOf(at),
      from_hour: calendar.hourOf(at),
      began_by: by,
      to_at: to,
      to_date: localTime(calendar, to).date,
      seconds: to === null ? null : to - at,
      business_seconds: to === null ? null : calendar.businessSeconds(at, to),
    }
  })
}
