/**
 * The model of the reports on human work, on messages by the hour, and of the agents' likely names.
 */
import { toModelMessage } from '../conversation.ts'
import type { ModelFacts } from '../facts.ts'
import { countWhere, groupBy, median, p90, share, sum } from '../grouping.ts'
import { createLocalClock } from '../local-clock.ts'
import type { ModelRow, ProjectRows } from '../raw-rows.ts'

/**
 * Conversations by the day on which they were last handled, beside the answers given and the agents
 * online on that day.
 */
export function workloadDays({ conversations, waits, availabilityHours }: ModelFacts): ModelRow[] {
  const days = new Set([
    ...conversations.map(({ handled_date }) => handled_date),
    ...waits.map(({ human_answered_date }) => human_answered_date),
    ...availabilityHours.map(({ date }) => date),
  ])
  days.delete(null)
  return [...days].map((date) => {
    const handled = conversations.filter(({ handled_date }) => handled_date === date)
    const withHuman = handled.filter(({ human_messages }) => human_messages > 0)
    const spans = withHuman
      .map(({ human_span_seconds }) => human_span_seconds)
      .filter((value) => value !== null)
    const turns = sum(withHuman.map(({ human_turns }) => human_turns))
    const messages = sum(withHuman.map(({ human_messages }) => human_messages))
    const answers = waits.filter(({ human_answered_date }) => human_answered_date === date).length
    const ofDay = availabilityHours.filter((hour) => hour.date === date)
    const observed = ofDay.filter(({ observed_seconds }) => observed_seconds > 0)
    const agentHours = observed.map(
      (hour) => hour.agent_seconds / Math.min(hour.observed_seconds, 3600),
    )
    const withAgents = observed.filter(({ agent_seconds }) => agent_seconds > 0)
    const observedAnswers = countWhere(waits, ({ human_answered_date, human_answered_hour }) =>
      withAgents.some(
        (hour) => hour.date === human_answered_date && hour.hour === human_answered_hour,
      ),
    )
    return {
      date,
      last_handled_conversations: handled.length,
      last_handled_with_human: withHuman.length,
      human_turns: turns,
      human_messages: messages,
      human_span_median_seconds: median(spans),
      human_span_p90_seconds: p90(spans),
      human_answers: answers,
      agent_seconds: sum(ofDay.map(({ agent_seconds }) => agent_seconds)),
      human_turns_per_conversation: share(turns, withHuman.length),
      human_messages_per_conversation: share(messages, withHuman.length),
      human_answers_per_agent_hour: share(observedAnswers, sum(agentHours)),
    }
  })
}

/** By who wrote them; also messages whose conversation is not mirrored yet. */
export function messageHours(rows: ProjectRows): ModelRow[] {
  const clock = createLocalClock(rows.settings)
  const messages = rows.messages
    .filter(({ deleted_at, created_at }) => deleted_at === null && created_at !== null)
    .map((message) => toModelMessage(message, rows.settings.roles))
  const keyed = groupBy(messages, ({ at, role }) =>
    JSON.stringify([clock.date(at), clock.hour(at), role]),
  )
  return [...keyed].map(([key, ofHour]) => {
    const [date, hour, role] = JSON.parse(key) as [string, number, string]
    return { date, hour, role, messages: ofHour.length }
  })
}

/**
 * The name on the last human message in most of an agent's conversations; of two names, the first
 * in the alphabet.
 */
export function agents({ conversations }: ModelFacts): ModelRow[] {
  const assigned = conversations.filter(
    ({ assigned_agent_id, last_human_name }) =>
      assigned_agent_id !== null && (last_human_name ?? '') !== '',
  )
  return [...groupBy(assigned, ({ assigned_agent_id }) => String(assigned_agent_id))].map(
    ([agent, ofAgent]) => {
      const names = [...groupBy(ofAgent, ({ last_human_name }) => String(last_human_name))]
      const [likely] = names.sort(([a, as], [b, bs]) => bs.length - as.length || (a < b ? -1 : 1))
      return {
        agent_id: agent,
        likely_name: likely?.[0] ?? '',
        name_share: (likely?.[1].length ?? 0) / ofAgent.length,
        conversations: ofAgent.length,
      }
    },
  )
}
