/** The model of report_hour: demand and coverage by the local hour. */
import type { ModelFacts } from '../facts.ts'
import { countWhere, groupBy, share } from '../grouping.ts'
import { weekdayOf } from '../local-clock.ts'
import type { ModelRow } from '../raw-rows.ts'

/** Hours in which anything happened or was observed. */
export function hourRows({ conversations, waits, availabilityHours }: ModelFacts): ModelRow[] {
  const keyOf = (date: string | null, hour: number | null) => JSON.stringify([date, hour])
  const started = conversations.map(({ created_date, created_hour }) =>
    keyOf(created_date, created_hour),
  )
  const asked = waits.map(({ started_date, started_hour }) => keyOf(started_date, started_hour))
  const humanAnswers = waits.map((wait) =>
    keyOf(wait.human_answered_date, wait.human_answered_hour),
  )
  const aiAnswers = waits
    .filter(({ ended_by }) => ended_by === 'ai')
    .map(({ ended_date, ended_hour }) => keyOf(ended_date, ended_hour))
  const observed = groupBy(availabilityHours, ({ date, hour }) => keyOf(date, hour))
  const keys = new Set([...started, ...asked, ...humanAnswers, ...aiAnswers, ...observed.keys()])
  keys.delete(keyOf(null, null))
  return [...keys].map((key) => {
    const [date, hour] = JSON.parse(key) as [string, number]
    const availability = observed.get(key)?.[0]
    const agentSeconds = availability?.agent_seconds ?? 0
    const observedSeconds = availability?.observed_seconds ?? 0
    const answers = countWhere(humanAnswers, (other) => other === key)
    return {
      date,
      hour,
      weekday: weekdayOf(date),
      conversations_started: countWhere(started, (other) => other === key),
      waits_started: countWhere(asked, (other) => other === key),
      human_answers: answers,
      ai_answers: countWhere(aiAnswers, (other) => other === key),
      observed_seconds: observedSeconds,
      available_share: share(availability?.available_seconds ?? 0, observedSeconds),
      agents_online: share(agentSeconds, observedSeconds),
      human_answers_per_agent_hour: share(answers * Math.min(observedSeconds, 3600), agentSeconds),
    }
  })
}
