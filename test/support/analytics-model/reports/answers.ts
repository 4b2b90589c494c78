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
    ongoing_waits: countWhere(ofDay, ({ ended_by }) => ended_by === 'nobody'),
    visitor_messages: sum(ofDay.map(({ messages }) => messages)),
  }))
}

/** Only they are counted where a missing message would change a time. */
function waitsOfCompleteConversations({ waits, conversations }: ModelFacts): Wait[] {
  const complete = new Set(
    conversations
      .filter(({ is_complete }) => is_complete)
      .map(({ conversation_id }) => conversation_id),
  )
  return waits.filter(({ conversation_id }) => complete.has(conversation_id))
}

const answerColumns = [
  { clock: 'any', hours: 'all', column: 'answer_seconds' },
  { clock: 'any', hours: 'business', column: 'answer_business_seconds' },
  { clock: 'human', hours: 'all', column: 'human_seconds' },
  { clock: 'human', hours: 'business', column: 'human_business_seconds' },
] as const

type Spans = readonly [span: string, spanOf: (date: string) => string]
type Timed = { readonly date: string | null; readonly seconds: number | null | undefined }

function durationsBy(
  [span, spanOf]: Spans,
  labels: ModelRow,
  counted: string,
  timed: readonly Timed[],
): ModelRow[] {
  const known = timed.filter(({ date, seconds }) => date !== null && typeof seconds === 'number')
  return [...groupBy(known, ({ date }) => spanOf(String(date)))].map(([day, ofSpan]) => {
    const values = ofSpan.map(({ seconds }) => Number(seconds))
    const statistics = {
      median_seconds: median(values),
      p90_seconds: p90(values),
      mean_seconds: mean(values),
    }
    return { [span]: day, ...labels, [counted]: values.length, ...statistics }
  })
}

function answersBy(facts: ModelFacts, spans: Spans): ModelRow[] {
  const waits = waitsOfCompleteConversations(facts)
  return answerColumns.flatMap(({ clock, hours, column }) => {
    const timed = waits.map((wait) => ({ date: wait.started_date, seconds: wait[column] }))
    return durationsBy(spans, { clock, hours }, 'answers', timed)
  })
}

/** Of each conversation, by its creation. */
function conversationDurations({ conversations, states }: ModelFacts, spans: Spans): ModelRow[] {
  const complete = conversations.filter(({ is_complete }) => is_complete)
  const opened = states.filter(
    ({ state_number, to_date }) => state_number === 1 && to_date !== null,
  )
  const kinds: readonly (readonly [until: string, hours: string, timed: readonly Timed[]])[] = [
    ['first answer', 'all', timesOf(complete, 'created_date', 'first_answer_seconds')],
    [
      'first answer',
      'business',
      timesOf(complete, 'created_date', 'first_answer_business_seconds'),
    ],
    ['first human answer', 'all', timesOf(complete, 'created_date', 'first_human_seconds')],
    [
      'first human answer',
      'business',
      timesOf(complete, 'created_date', 'first_human_business_seconds'),
    ],
    ['first handling', 'all', timesOf(opened, 'from_date', 'seconds')],
    ['first handling', 'business', timesOf(opened, 'from_date', 'business_seconds')],
    ['last handling', 'all', timesOf(conversations, 'created_date', 'handled_seconds')],
    [
      'last handling',
      'business',
      timesOf(conversations, 'created_date', 'handled_business_seconds'),
    ],
  ]
  return kinds.flatMap(([until, hours, timed]) =>
    durationsBy(spans, { until, hours }, 'conversations', timed),
  )
}

function timesOf(rows: readonly ModelRow[], date: string, seconds: string): Timed[] {
  return rows.map((row) => ({
    date: row[date] as string | null,
    seconds: row[seconds] as number | null,
  }))
}

/** What people wrote in a span, and the answers that they gave in it. */
function agentsBy(facts: ModelFacts, [span, spanOf]: Spans): ModelRow[] {
  const waits = waitsOfCompleteConversations(facts)
  const written = facts.contributions.filter(({ role }) => role === 'human')
  return [...groupBy(written, ({ date, name }) => JSON.stringify([spanOf(date), name]))].map(
    ([key, contributions]) => {
      const [day, name] = JSON.parse(key) as [string, string]
      const seconds = waits
        .filter(
          (wait) => wait.human_answered_date !== null && spanOf(wait.human_answered_date) === day,
        )
        .filter((wait) => wait.human_name === name)
        .map(({ human_seconds }) => human_seconds)
        .filter((value) => value !== null)
      return {
        [span]: day,
        agent_name: name,
        messages: sum(contributions.map(({ messages }) => messages)),
        conversations: new Set(contributions.map(({ conversation_id }) => conversation_id)).size,
        answers: seconds.length,
        answer_median_seconds: median(seconds),
        answer_p90_seconds: p90(seconds),
      }
    },
  )
}

/** The first human answers of complete conversations, by who gave them and when. */
function firstAnswersBy({ conversations }: ModelFacts): ModelRow[] {
  const answered = conversations.filter(
    ({ is_complete, first_human_seconds }) => is_complete && first_human_seconds !== null,
  )
  const keyed = groupBy(answered, ({ first_human_week, first_human_name }) =>
    JSON.stringify([first_human_week, first_human_name]),
  )
  return [...keyed].map(([key, ofAgent]) => {
    const [week, name] = JSON.parse(key) as [string, string]
    const seconds = ofAgent.flatMap(({ first_human_seconds }) => first_human_seconds ?? [])
    return {
      week,
      agent_name: name,
      first_answers: ofAgent.length,
      median_seconds: median(seconds),
      p90_seconds: p90(seconds),
    }
  })
}

function agentHours(facts: ModelFacts): ModelRow[] {
  const answered = waitsOfCompleteConversations(facts).filter(
    ({ human_answered_date }) => human_answered_date !== null,
  )
  const keyed = groupBy(answered, ({ human_answered_date, human_answered_hour, human_name }) =>
    JSON.stringify([monthOf(human_answered_date ?? ''), human_answered_hour, human_name]),
  )
  return [...keyed].map(([key, ofHour]) => {
    const [month, hour, name] = JSON.parse(key) as [string, number, string]
    const seconds = ofHour.flatMap(({ human_seconds }) => human_seconds ?? [])
    return {
      month,
      hour,
      agent_name: name,
      answers: seconds.length,
      answer_median_seconds: median(seconds),
      answer_p90_seconds: p90(seconds),
    }
  })
}

const days: Spans = ['date', (date) => date]
const weeks: Spans = ['week', mondayOf]
const months: Spans = ['month', monthOf]

export const reportsBySpan = (facts: ModelFacts) => ({
  report_answer_day: answersBy(facts, days),
  report_answer_week: answersBy(facts, weeks),
  report_answer_month: answersBy(facts, months),
  report_duration_day: conversationDurations(facts, days),
  report_duration_week: conversationDurations(facts, weeks),
  report_duration_month: conversationDurations(facts, months),
  report_agent_day: agentsBy(facts, days),
  report_agent_month: agentsBy(facts, months),
  report_agent_first_answer_week: firstAnswersBy(facts),
  report_agent_month_hour: agentHours(facts),
})

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
        hours: target.hours,
        waits: ofDay.length,
        met,
        missed,
        open: countWhere(
          took,
          ({ seconds, wait }) => seconds === null && wait.ended_by === 'nobody',
        ),
        without: countWhere(
          took,
          ({ seconds, wait }) => seconds === null && wait.ended_by !== 'nobody',
        ),
        met_share: share(met, met + missed),
      }
    })
  })
}

function appliesTo(target: ModelTarget, wait: Wait, targets: readonly ModelTarget[]): boolean {
  const isReplaced = targets.some(
    (other) =>
      other.name === target.name && other.from > target.from && other.from <= wait.started_date,
  )
  return (
    wait.started_date >= target.from &&
    !isReplaced &&
    (target.which === 'every' || wait.wait_number === 1)
  )
}

function secondsFor(target: ModelTarget, wait: Wait): number | null {
  const found = answerColumns.find(
    ({ clock, hours }) => clock === target.clock && hours === target.hours,
  )
  return found === undefined ? null : wait[found.column]
}
