/** The model of the reports on waits, answers, agents and targets. */
import type { ModelFacts } from '../facts.ts'
import { countWhere, groupBy, mean, median, p90, share, sum } from '../grouping.ts'
import { mondayOf, monthOf } from '../local-clock.ts'
import type { ModelRow, ModelTarget } from '../raw-rows.ts'

type Wait = ModelFacts['waits'][number]

/** By the day on which the visitor asked. */
export function waitDays({ waits }: ModelFacts): ModelRow[] {
  return [...groupBy(waits, ({ started_date }) => started_date)].map(([date, ofDay]) => ({
    date,
    waits: ofDay.length,
    first_waits: countWhere(ofDay, ({ wait_number }) => wait_number === 1),
    answered_by_human: countWhere(ofDay, ({ ended_by }) => ended_by === 'human'),
    answered_by_ai: countWhere(ofDay, ({ ended_by }) => ended_by === 'ai'),
    closed_without_answer: countWhere(ofDay, ({ ended_by }) => ended_by === 'handled'),
    unanswered: countWhere(ofDay, ({ ended_by }) => ended_by === 'nobody'),
    visitor_messages: sum(ofDay.map(({ messages }) => messages)),
  }))
}

/** Only they are counted where a missing message would change a time. */
function waitsOfCompleteConversations({ waits, conversations }: ModelFacts): Wait[] {
  const complete = new Set(
    conversations.filter(({ is_complete }) => is_complete).map(({ conversation_id }) => conversation_id),
  )
  return waits.filter(({ conversation_id }) => complete.has(conversation_id))
}

const answerColumns = [
  { clock: 'any', hours: 'all', column: 'answer_seconds' },
  { clock: 'any', hours: 'business', column: 'answer_business_seconds' },
  { clock: 'human', hours: 'all', column: 'human_seconds' },
  { clock: 'human', hours: 'business', column: 'human_business_seconds' },
] as const

function answersBy(facts: ModelFacts, span: string, spanOf: (date: string) => string): ModelRow[] {
  const waits = waitsOfCompleteConversations(facts)
  return answerColumns.flatMap(({ clock, hours, column }) => {
    const answered = waits.filter((wait) => wait[column] !== null)
    return [...groupBy(answered, ({ started_date }) => spanOf(started_date))].map(([day, ofSpan]) => {
      const values = ofSpan.map((wait) => wait[column]).filter((value) => value !== null)
      return {
        [span]: day,
        clock,
        hours,
        answers: values.length,
        median_seconds: median(values),
        p90_seconds: p90(values),
        mean_seconds: mean(values),
      }
    })
  })
}

export const answerDays = (facts: ModelFacts): ModelRow[] => answersBy(facts, 'date', (date) => date)
export const answerWeeks = (facts: ModelFacts): ModelRow[] => answersBy(facts, 'week', mondayOf)
export const answerMonths = (facts: ModelFacts): ModelRow[] => answersBy(facts, 'month', monthOf)

/** What people wrote on a day, and the answers that they gave on it. */
export function agentDays(facts: ModelFacts): ModelRow[] {
  const waits = waitsOfCompleteConversations(facts)
  const written = facts.contributions.filter(({ role }) => role === 'human')
  return [...groupBy(written, ({ date, name }) => JSON.stringify([date, name]))].map(([key, contributions]) => {
    const [date, name] = JSON.parse(key) as [string, string]
    const seconds = waits
      .filter((wait) => wait.human_answered_date === date && wait.human_name === name)
      .map(({ human_seconds }) => human_seconds)
      .filter((value) => value !== null)
    return {
      date,
      agent_name: name,
      messages: sum(contributions.map(({ messages }) => messages)),
      conversations: contributions.length,
      answers: seconds.length,
      answer_median_seconds: median(seconds),
      answer_p90_seconds: p90(seconds),
    }
  })
}

/** Judges every wait by the target that applied on the day on which it began. */
export function slaDays(facts: ModelFacts, targets: readonly ModelTarget[]): ModelRow[] {
  const waits = waitsOfCompleteConversations(facts)
  return targets.flatMap((target) => {
    const applicable = waits.filter((wait) => appliesTo(target, wait, targets))
    return [...groupBy(applicable, ({ started_date }) => started_date)].map(([date, ofDay]) => {
      const took = ofDay.map((wait) => ({ wait, seconds: secondsFor(target, wait) }))
      const met = countWhere(took, ({ seconds }) => seconds !== null && seconds <= target.seconds)
      const missed = countWhere(took, ({ seconds }) => seconds !== null && seconds > target.seconds)
      return {
        date,
        sla: target.name,
        waits: ofDay.length,
        met,
        missed,
        open: countWhere(took, ({ seconds, wait }) => seconds === null && wait.ended_by === 'nobody'),
        without: countWhere(took, ({ seconds, wait }) => seconds === null && wait.ended_by !== 'nobody'),
        met_share: share(met, met + missed),
      }
    })
  })
}

function appliesTo(target: ModelTarget, wait: Wait, targets: readonly ModelTarget[]): boolean {
  const isReplaced = targets.some(
    (other) => other.name === target.name && other.from > target.from && other.from <= wait.started_date,
  )
  return wait.started_date >= target.from && !isReplaced && (target.which === 'every' || wait.wait_number === 1)
}

function secondsFor(target: ModelTarget, wait: Wait): number | null {
  const found = answerColumns.find(({ clock, hours }) => clock === target.clock && hours === target.hours)
  return found === undefined ? null : wait[found.column]
}
