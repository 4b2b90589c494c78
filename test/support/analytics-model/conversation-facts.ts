/** The model of fct_conversation and fct_contribution. */
import type { ModelConversation, ModelMessage, ModelRole } from './conversation.ts'
import { sum } from './grouping.ts'
import { type LocalClock, mondayOf, monthOf } from './local-clock.ts'
import { type ModelSettings, seconds, toTime } from './raw-rows.ts'
import type { StateRow } from './states.ts'
import type { ModelWait } from './waits.ts'
import { countTurns } from './waits.ts'

export type ConversationParts = {
  readonly conversation: ModelConversation
  readonly waits: readonly ModelWait[]
  readonly states: readonly StateRow[]
}

export function toConversationRow(
  parts: ConversationParts,
  settings: ModelSettings,
  clock: LocalClock,
) {
  const { conversation } = parts
  const { row, createdAt } = conversation
  const mirroredSince = seconds(settings.mirroredSince)
  const isWatchedFromCreation = createdAt !== null && createdAt >= mirroredSince
  return {
    conversation_id: row.id,
    visitor_id: row.visitor_id,
    origin: row.origin,
    assigned_agent_id: row.assigned_agent_id,
    created_at: row.created_at,
    created_date: clock.date(createdAt),
    created_hour: clock.hour(createdAt),
    ...countMessages(conversation),
    ...describeSpeakers(conversation),
    ...summariseWaits(parts.waits, row.handled_at === null, clock),
    ...summariseHandling(parts, clock),
    history_from: isWatchedFromCreation ? row.created_at : settings.mirroredSince,
    history_complete: isWatchedFromCreation,
  }
}

export type ConversationFactRow = ReturnType<typeof toConversationRow>

const countRole = (messages: readonly ModelMessage[], role: ModelRole) =>
  messages.filter((message) => message.role === role).length

function countMessages({ row, messages, timed }: ModelConversation) {
  const other = countRole(messages, 'other')
  const human = countRole(messages, 'human')
  const ai = countRole(messages, 'ai')
  const answeredByHuman = human > 0
  const answeredByAi = ai > 0
  const answeredByOne = answeredByHuman ? 'human' : answeredByAi ? 'ai' : 'nobody'
  return {
    is_complete: row.messages_complete === true && timed.length === messages.length && other === 0,
    answered_by: answeredByHuman && answeredByAi ? 'human and ai' : answeredByOne,
    messages: messages.length,
    visitor_messages: countRole(messages, 'visitor'),
    human_messages: human,
    ai_messages: ai,
    other_messages: other,
    system_events: countRole(messages, 'event'),
    human_names: new Set(messages.filter(({ role }) => role === 'human').map(({ name }) => name))
      .size,
  }
}

function describeSpeakers(conversation: ModelConversation) {
  const { timed, utterances } = conversation
  const firstVisitor = timed.find(({ role }) => role === 'visitor')
  const lastVisitor = timed.findLast(({ role }) => role === 'visitor')
  const last = utterances.at(-1)
  const human = utterances.filter(({ role }) => role === 'human')
  const [firstHuman] = human
  const lastHuman = human.at(-1)
  return {
    opened_by: utterances[0]?.role ?? null,
    human_turns: countTurns(conversation, 'human'),
    first_visitor_at: firstVisitor === undefined ? null : toTime(firstVisitor.at),
    last_visitor_at: lastVisitor === undefined ? null : toTime(lastVisitor.at),
    human_span_seconds:
      firstHuman === undefined || lastHuman === undefined ? null : lastHuman.at - firstHuman.at,
    last_human_name: lastHuman?.name ?? null,
    last_utterance_at: last === undefined ? null : toTime(last.at),
    last_utterance_by: last?.role ?? null,
  }
}

function summariseWaits(waits: readonly ModelWait[], isOpen: boolean, clock: LocalClock) {
  const [first] = waits.filter(({ answer_seconds }) => answer_seconds !== null)
  const [firstByHuman] = waits.filter(({ human_answered_at }) => human_answered_at !== null)
  const answeredAt = firstByHuman?.human_answered_at ?? null
  const answeredOn = answeredAt === null ? null : clock.date(seconds(answeredAt))
  const last = waits.at(-1)
  const answers = waits
    .map(({ answer_seconds }) => answer_seconds)
    .filter((value) => value !== null)
  const humanAnswers = waits
    .map(({ human_seconds }) => human_seconds)
    .filter((value) => value !== null)
  return {
    waits: waits.length,
    first_answer_seconds: first?.answer_seconds ?? null,
    first_answer_business_seconds: first?.answer_business_seconds ?? null,
    first_human_at: firstByHuman?.human_answered_at ?? null,
    first_human_date: answeredOn,
    first_human_week: answeredOn === null ? null : mondayOf(answeredOn),
    first_human_month: answeredOn === null ? null : monthOf(answeredOn),
    first_human_name: firstByHuman?.human_name ?? null,
    first_human_seconds: firstByHuman?.human_seconds ?? null,
    first_human_business_seconds: firstByHuman?.human_business_seconds ?? null,
    longest_wait_seconds: answers.length === 0 ? null : Math.max(...answers),
    total_wait_seconds: answers.length === 0 ? null : sum(answers),
    total_human_wait_seconds: humanAnswers.length === 0 ? null : sum(humanAnswers),
    waiting_since: isOpen && last !== undefined && last.ended_at === null ? last.started_at : null,
  }
}

function summariseHandling({ conversation, states }: ConversationParts, clock: LocalClock) {
  const { row, createdAt, handledAt } = conversation
  const firstHandled = states.find(({ state }) => state === 'handled')
  const reopens = states.filter(
    ({ state, state_number }) => state === 'open' && state_number > 1,
  ).length
  const humanTurns = countTurns(conversation, 'human')
  return {
    is_open: row.handled_at === null,
    handled_at: row.handled_at,
    handled_date: clock.date(handledAt),
    handled_seconds: handledAt === null || createdAt === null ? null : handledAt - createdAt,
    handled_business_seconds: clock.businessSeconds(createdAt, handledAt),
    first_handled_at: firstHandled?.from_at ?? null,
    first_handled_seconds:
      firstHandled === undefined || createdAt === null
        ? null
        : seconds(firstHandled.from_at) - createdAt,
    reopens_seen: reopens,
    is_one_touch: row.handled_at !== null && humanTurns === 1 && reopens === 0,
  }
}

/** Who wrote how much on a local day. */
export function contributionRows({ row, timed }: ModelConversation, clock: LocalClock) {
  const rows: ContributionRow[] = []
  for (const { at, role, name } of timed) {
    const { date } = clock.localTime(at)
    const shownName = role === 'human' || role === 'ai' ? name : ''
    const found = rows.find(
      (other) => other.date === date && other.role === role && other.name === shownName,
    )
    if (found !== undefined) found.messages++
    else
      rows.push({
        conversation_id: row.id,
        date,
        role,
        name: shownName,
        messages: 1,
        first_at: toTime(at),
      })
  }
  return rows
}

export type ContributionRow = {
  readonly conversation_id: string
  readonly date: string
  readonly role: ModelRole
  readonly name: string
  messages: number
  readonly first_at: string
}
