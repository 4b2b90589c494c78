/** All facts of one conversation, derived from its stored rows. */
import type { EpochSeconds, Seconds } from '../time.ts'
import type { Calendar } from './calendar.ts'
import type { ConversationHistory, HistoryMessage, Role, TimedMessage } from './conversation-history.ts'
import type { AnsweredBy, ContributionRow, ConversationRow, StateRow, WaitRow } from './fact-rows.ts'
import { type FlagChange, handledHistory } from './handlings.ts'
import { deriveWaits, messagesInOrder, type Turn, turnsOf } from './waits.ts'

type ConversationFacts = {
  readonly conversation: ConversationRow
  readonly waits: readonly WaitRow[]
  readonly states: readonly StateRow[]
  readonly contributions: readonly ContributionRow[]
}

/** `mirroredSince`: since when changes of the project's conversations are watched. */
export function deriveConversationFacts(
  history: ConversationHistory,
  calendar: Calendar,
  mirroredSince: EpochSeconds,
): ConversationFacts {
  const messages = messagesInOrder(history.messages)
  const { flagChanges, handlings } = handledHistory(history, messages, mirroredSince)
  const turns = turnsOf(messages, handlings)
  const states = deriveStates(history, flagChanges, calendar)
  const waits = deriveWaits({ id: history.id, turns, handlings, states }, calendar)
  const contributions = deriveContributions(history.id, messages, calendar)
  const conversation: ConversationRow = {
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
  return {
    conversation_id: history.id,
    visitor_id: history.visitorId,
    origin: history.origin,
    assigned_agent_id: history.assignedAgentId,
    created_at: createdAt,
    created_date: createdAt === null ? null : calendar.dateOf(createdAt),
    created_hour: createdAt === null ? null : calendar.hourOf(createdAt),
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

function answeredBy(hasHuman: boolean, hasAi: boolean): AnsweredBy {
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
    handled_date: handledAt === null ? null : calendar.dateOf(handledAt),
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

/** `messages`: in order. */
function deriveContributions(
  conversationId: string,
  messages: readonly TimedMessage[],
  calendar: Calendar,
): ContributionRow[] {
  const rows: { -readonly [Column in keyof ContributionRow]: ContributionRow[Column] }[] = []
  for (const { at, role, name: author } of messages) {
    const date = calendar.dateOf(at)
    const name = role === 'human' || role === 'ai' ? author : ''
    // Its row is nearly always among the last ones.
    const known = rows.findLast((row) => row.role === role && row.date === date && row.name === name)
    if (known === undefined) rows.push({ conversation_id: conversationId, date, role, name, messages: 1, first_at: at })
    else known.messages++
  }
  return rows
}

/** None for a conversation without a creation time. */
function deriveStates(
  { id, createdAt }: Pick<ConversationHistory, 'id' | 'createdAt'>,
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

function stateRow({ id, number, began, to }: Span, calendar: Calendar): StateRow {
  return {
    conversation_id: id,
    state_number: number,
    state: number % 2 === 1 ? 'open' : 'handled',
    from_at: began.at,
    from_date: calendar.dateOf(began.at),
    from_hour: calendar.hourOf(began.at),
    began_by: began.by,
    to_at: to,
    to_date: to === null ? null : calendar.dateOf(to),
    seconds: to === null ? null : to - began.at,
    business_seconds: to === null ? null : calendar.businessSeconds(began.at, to),
  }
}
