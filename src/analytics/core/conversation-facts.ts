/** All facts of one conversation, derived from its stored rows. */
import type { EpochSeconds, Seconds } from '../../values/time.ts'
import { type Calendar, localTime } from './calendar.ts'
import type { ConversationHistory, HistoryMessage, Role, TimedMessage } from './conversation-history.ts'
import { type FlagChange, handledHistory } from './handlings.ts'
import { deriveWaits, messagesInOrder, type Turn, turnsOf, type WaitRow } from './waits.ts'

/** `mirroredSince`: since when changes of the project's conversations are watched. */
export function deriveConversationFacts(history: ConversationHistory, calendar: Calendar, mirroredSince: EpochSeconds) {
  const messages = messagesInOrder(history.messages)
  const { flagChanges, handlings } = handledHistory(history, messages, mirroredSince)
  const turns = turnsOf(messages, handlings)
  const states = deriveStates(history, flagChanges, calendar)
  const waits = deriveWaits({ id: history.id, turns, handlings, states }, calendar)
  const contributions = deriveContributions(history.id, messages, calendar)
  const conversation = {
    ...ownColumns(history, calendar),
    ...messageColumns(history, messages.length),
    ...turnColumns(turns),
    ...waitColumns(waits, history.handledAt === null),
    ...stateColumns(history, states, calendar),
    ...historyColumns(history.createdAt, mirroredSince),
    is_one_touch: history.handledAt !== null && humanTurns(turns) === 1 && reopenings(states) === 0,
  }
  return { conversation, waits, states, contributions }
}

function ownColumns(history: ConversationHistory, calendar: Calendar) {
  const { createdAt } = history
  const created = localTime(calendar, createdAt)
  return {
    conversation_id: history.id,
    visitor_id: history.visitorId,
    origin: history.origin,
    assigned_agent_id: history.assignedAgentId,
    created_at: createdAt,
    created_date: created.date,
    created_hour: created.hour,
    is_open: history.handledAt === null,
  }
}

/** Counts every message, also those without a time. */
function messageColumns({ messages, isMessagesComplete }: ConversationHistory, timedMessages: number) {
  const count: Record<Role, number> = { visitor: 0, human: 0, ai: 0, other: 0, event: 0 }
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
    human_names: count.human === 0 ? 0 : humanNames(messages),
  }
}

function answeredBy(hasHuman: boolean, hasAi: boolean) {
  if (hasHuman) return hasAi ? 'human and ai' : 'human'
  return hasAi ? 'ai' : 'nobody'
}

function humanNames(messages: readonly HistoryMessage[]): number {
  const names = new Set<string>()
  for (const { role, name } of messages) if (role === 'human') names.add(name)
  return names.size
}

function turnColumns(turns: readonly Turn[]) {
  const last = turns.at(-1)
  const firstHuman = turns.find(({ role }) => role === 'human')
  const lastHuman = turns.findLast(({ role }) => role === 'human')
  return {
    opened_by: turns[0]?.role ?? null,
    human_turns: humanTurns(turns),
    first_visitor_at: turns.find(({ role }) => role === 'visitor')?.startedAt ?? null,
    human_span_seconds: firstHuman && lastHuman ? lastHuman.endedAt - firstHuman.startedAt : null,
    last_human_name: lastHuman?.lastName ?? null,
    last_utterance_at: last?.endedAt ?? null,
    last_utterance_by: last?.role ?? null,
  }
}

function humanTurns(turns: readonly Turn[]): number {
  let count = 0
  for (const { role } of turns) if (role === 'human') count++
  return count
}

function waitColumns(waits: readonly WaitRow[], isOpen: boolean) {
  const last = waits.at(-1)
  const answered = waits.find(({ answer_seconds }) => answer_seconds !== null)
  const answeredByHuman = waits.find(({ human_seconds }) => human_seconds !== null)
  return {
    waits: waits.length,
    first_answer_seconds: answered?.answer_seconds ?? null,
    first_answer_business_seconds: answered?.answer_business_seconds ?? null,
    first_human_at: answeredByHuman?.human_answered_at ?? null,
    first_human_name: answeredByHuman?.human_name ?? null,
    first_human_seconds: answeredByHuman?.human_seconds ?? null,
    first_human_business_seconds: answeredByHuman?.human_business_seconds ?? null,
    waiting_since: isOpen && last?.ended_by === 'nobody' ? last.started_at : null,
    ...waitTotals(waits),
  }
}

/** Null without an answer. */
function waitTotals(waits: readonly WaitRow[]) {
  let longest: Seconds | null = null
  let total: Seconds | null = null
  let humanTotal: Seconds | null = null
  for (const { answer_seconds, human_seconds } of waits) {
    if (answer_seconds !== null) {
      longest = Math.max(longest ?? 0, answer_seconds)
      total = (total ?? 0) + answer_seconds
    }
    if (human_seconds !== null) humanTotal = (humanTotal ?? 0) + human_seconds
  }
  return { longest_wait_seconds: longest, total_wait_seconds: total, total_human_wait_seconds: humanTotal }
}

function stateColumns({ createdAt, handledAt }: ConversationHistory, states: readonly StateRow[], calendar: Calendar) {
  const firstHandledAt = states.find(({ state }) => state === 'handled')?.from_at ?? null
  const isTimed = createdAt !== null && handledAt !== null
  return {
    handled_at: handledAt,
    handled_date: localTime(calendar, handledAt).date,
    handled_seconds: isTimed ? handledAt - createdAt : null,
    handled_business_seconds: isTimed ? calendar.businessSeconds(createdAt, handledAt) : null,
    first_handled_at: firstHandledAt,
    first_handled_seconds: firstHandledAt !== null && createdAt !== null ? firstHandledAt - createdAt : null,
    reopens_seen: reopenings(states),
  }
}

function reopenings(states: readonly StateRow[]): number {
  let count = 0
  for (const { state, state_number } of states) if (state === 'open' && state_number > 1) count++
  return count
}

function historyColumns(createdAt: EpochSeconds | null, mirroredSince: EpochSeconds) {
  return {
    history_from: Math.max(createdAt ?? mirroredSince, mirroredSince),
    history_complete: createdAt !== null && createdAt >= mirroredSince,
  }
}

/** How many messages each writer wrote on each day; `messages`: in order. */
function deriveContributions(id: string, messages: readonly TimedMessage[], calendar: Calendar) {
  const rows: ReturnType<typeof contributionRow>[] = []
  for (const message of messages) {
    const added = contributionRow(id, message, calendar)
    // Its row is nearly always among the last ones.
    const known = rows.findLast(
      ({ role, date, name }) => role === added.role && date === added.date && name === added.name,
    )
    if (known === undefined) rows.push(added)
    else known.messages++
  }
  return rows
}

function contributionRow(id: string, { at, role, name }: TimedMessage, calendar: Calendar) {
  const shownName = role === 'human' || role === 'ai' ? name : ''
  return { conversation_id: id, date: calendar.dateOf(at), role, name: shownName, messages: 1, first_at: at }
}

type StateRow = ReturnType<typeof stateRow>

/** None for a conversation without a creation time. */
function deriveStates(
  { id, createdAt }: ConversationHistory,
  flagChanges: readonly FlagChange[],
  calendar: Calendar,
): StateRow[] {
  if (createdAt === null) return []
  const created: FlagChange = { at: Math.min(createdAt, flagChanges[0]?.at ?? createdAt), by: 'created' }
  return [created, ...flagChanges].map((began, index) =>
    stateRow({ id, number: index + 1, began, to: flagChanges[index]?.at ?? null }, calendar),
  )
}

type Span = {
  readonly id: string
  readonly number: number
  readonly began: FlagChange
  readonly to: EpochSeconds | null
}

function stateRow({ id, number, began, to }: Span, calendar: Calendar) {
  return {
    conversation_id: id,
    state_number: number,
    state: number % 2 === 1 ? ('open' as const) : ('handled' as const),
    from_at: began.at,
    from_date: calendar.dateOf(began.at),
    from_hour: calendar.hourOf(began.at),
    began_by: began.by,
    to_at: to,
    to_date: localTime(calendar, to).date,
    seconds: to === null ? null : to - began.at,
    business_seconds: to === null ? null : calendar.businessSeconds(began.at, to),
  }
}
