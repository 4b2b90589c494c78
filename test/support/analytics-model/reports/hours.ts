/** The model of report_hour and report_week_hour: demand and coverage by the local hour. */
import type { ModelFacts } from '../facts.ts'
import { countWhere, groupBy, mean, share } from '../grouping.ts'
import { weekdayOf } from '../local-clock.ts'
import type { ModelRow } from '../raw-rows.ts'

type HourRow = {
  readonly date: string
  readonly hour: number
  readonly weekday: number
  readonly conversations_started: number
  readonly waits_started: number
  readonly human_answers: number
  readonly ai_answers: number
  readonly observed_seconds: number
  readonly available_share: number | null
  readonly agents_online: number | null
  readonly human_answers_per_agent_hour: number | null
}

/** Hours in which anything happened or was observed. */
export function hourRows({ conversations, waits, availabilityHours }: ModelFacts): HourRow[] {
  const keyOf = (date: string | null, hour: number | null) => JSON.stringify([date, hour])
  const started = conversations.map(({ created_date, created_hour }) => keyOf(created_date, created_hour))
  const asked = waits.map(({ started_date, started_hour }) => keyOf(started_date, started_hour))
  const humanAnswers = waits.map((wait) => keyOf(wait.human_answered_date, wait.human_answered_hour))
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
      human_answers_per_agent_hour: share(answers * 3600, agentSeconds),
    }
  })
}

/** Means of the hours that report_hour has. */
export function weekHours(facts: ModelFacts): ModelRow[] {
  const groups = groupBy(hourRows(facts), ({ weekday, hour }) => JSON.stringify([weekday, hour]))
  return [...groups].map(([key, hours]) => {
    const [weekday, hour] = JSON.parse(key) as [number, number]
    return {
      weekday,
      hour,
      hours: hours.length,
      waits_started: mean(hours.map(({ waits_started }) => waits_started)),
      human_answers: mean(hours.map(({ human_answers }) => human_answers)),
      agents_online: meanOfKnown(hours.map(({ agents_online }) => agents_online)),
      available_share: meanOfKnown(hours.map(({ available_share }) => available_share)),
    }
  })
}

function meanOfKnown(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  return known.length === 0 ? null : mean(known)
}
