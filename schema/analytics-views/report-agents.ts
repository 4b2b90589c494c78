/** The work of humans: of each agent, and of all by day. */
import type { AnalyticsView } from './analytics-view.ts'
import { mergeByKey, percentilesOf } from './by-windows.ts'
import { observedSecondsOfHour } from './report-hour.ts'
import { completeWaits } from './report-waits.ts'
import {
  count,
  date,
  distinct,
  duration,
  key,
  mean,
  meanSeconds,
  optional,
  projectId,
  seconds,
  weighted,
} from './view-columns.ts'

/** What each agent did on each day and in each month, by the name on the messages. */
const measures = {
  messages: count('messages'),
  conversations: distinct('conversations that the agent wrote in'),
  answers: count('messages that answered a waiting visitor, in complete conversations'),
  answer_median_seconds: optional(meanSeconds('median of how long these visitors had waited for a human')),
  answer_p90_seconds: optional(duration('nine tenths of them had waited this long at most')),
}

/** `column` of dim_date. */
function agentsBy(period: 'day' | 'month', column: 'date' | 'month'): AnalyticsView {
  const joinDate = (date: string) => `join dim_date d on d.project_id = w.project_id and d.date = ${date}`
  const [written, answered] = column === 'date' ? ['w.date', 'w.human_answered_date'] : ['d.month', 'd.month']
  return {
    note: `Messages and answers of each agent by the ${period} of the messages.`,
    caveat:
      'Agents are names that visitors saw: two people may share one, and one may change it. The assigned agent plays no part. A conversation that two agents wrote in counts for both.',
    key: ['project_id', column, 'agent_name'],
    columns: {
      project_id: projectId,
      [column]: date(`${period === 'day' ? 'the day' : 'first day of the month'} of the messages`),
      agent_name: key('the name on the messages; empty = they show none'),
      ...measures,
    },
    select: () =>
      mergeByKey({
        key: ['project_id', column, 'agent_name'],
        columns: measures,
        sources: [
          {
            key: ['w.project_id', written, 'w.name'],
            columns: { messages: 'sum(w.messages)', conversations: 'count(distinct w.conversation_id)' },
            from: `fct_contribution w ${column === 'date' ? '' : joinDate('w.date')}
        where w.role = 'human'
        group by w.project_id, ${written}, w.name`,
          },
          {
            key: ['project_id', column, 'name'],
            columns: {
              answers: 'values_counted',
              answer_median_seconds: 'median_value',
              answer_p90_seconds: 'p90_value',
            },
            from: `(${percentilesOf({
              groups: { project_id: 'w.project_id', [column]: answered, name: 'w.human_name' },
              value: 'w.human_seconds',
              from: `${completeWaits} ${column === 'date' ? '' : joinDate('w.human_answered_date')}
        where w.human_seconds is not null`,
            })}) answers`,
          },
        ],
      }),
  }
}

export const reportAgentDay = agentsBy('day', 'date')
export const reportAgentMonth = agentsBy('month', 'month')

/** Substitutes for handle time and occupancy, which cannot be computed: named as what they are. */
const merged = {
  last_handled_conversations: count('conversations whose last handling was on this day'),
  last_handled_with_human: count('of these, those in which a human wrote'),
  human_turns: count('runs of human messages in these'),
  human_messages: count('human messages in these'),
  human_span_median_seconds: optional(meanSeconds('median of the span from the first to the last human message')),
  human_span_p90_seconds: optional(duration('nine tenths of these spans are this long at most')),
  human_answers: count('answers of humans given on this day'),
  agent_seconds: seconds('seconds times agents online; only while the availability was observed'),
}

/** Of the hours in which the availability was observed. */
const observed = { observed_answers: count(''), agent_hours: optional(mean('')) }

export const reportWorkloadDay: AnalyticsView = {
  note: 'How much human work the conversations took that were handled on each day, and how many answers online agents gave.',
  caveat:
    'Not handle time and not occupancy: the service shows no drafts, no focus and no states of agents. A span from the first to the last human message includes all pauses.',
  key: ['project_id', 'date'],
  columns: {
    project_id: projectId,
    date: date('the local day'),
    ...merged,
    human_turns_per_conversation: optional(
      weighted(mean('human_turns / last_handled_with_human'), 'last_handled_with_human'),
    ),
    human_messages_per_conversation: optional(
      weighted(mean('human_messages / last_handled_with_human'), 'last_handled_with_human'),
    ),
    human_answers_per_agent_hour: optional(
      mean(
        'human answers for each hour of an online agent, in the hours in which some were observed; null = none were',
      ),
    ),
  },
  select: () => `
    select project_id, date, ${Object.keys(merged).join(', ')},
      cast(human_turns as double precision) / nullif(last_handled_with_human, 0) as human_turns_per_conversation,
      cast(human_messages as double precision) / nullif(last_handled_with_human, 0) as human_messages_per_conversation,
      observed_answers / nullif(agent_hours, 0) as human_answers_per_agent_hour
    from (${mergeByKey({ key: ['project_id', 'date'], columns: { ...merged, ...observed }, sources })}) w`,
}

const sources = [
  {
    key: ['project_id', 'handled_date'],
    columns: {
      last_handled_conversations: 'count(*)',
      last_handled_with_human: 'count(case when human_messages > 0 then 1 end)',
      human_turns: 'sum(human_turns)',
      human_messages: 'sum(human_messages)',
    },
    from: 'fct_conversation where handled_date is not null group by project_id, handled_date',
  },
  {
    key: ['project_id', 'date'],
    columns: { human_span_median_seconds: 'median_value', human_span_p90_seconds: 'p90_value' },
    from: `(${percentilesOf({
      groups: { project_id: 'project_id', date: 'handled_date' },
      value: 'human_span_seconds',
      from: 'fct_conversation where human_span_seconds is not null and handled_date is not null',
    })}) spans`,
  },
  {
    key: ['project_id', 'human_answered_date'],
    columns: { human_answers: 'count(*)' },
    from: 'fct_wait where human_answered_date is not null group by project_id, human_answered_date',
  },
  {
    key: ['w.project_id', 'w.human_answered_date'],
    columns: { observed_answers: 'count(*)' },
    // SQLite keeps the order of a cross join. If it thinks that there are few hours, it would read all waits for each.
    from: `fct_wait w
        cross join fct_availability_hour a
        where a.project_id = w.project_id and a.date = w.human_answered_date and a.hour = w.human_answered_hour
          and w.human_answered_date is not null and a.observed_seconds > 0
        group by w.project_id, w.human_answered_date`,
  },
  {
    key: ['project_id', 'date'],
    columns: {
      agent_seconds: 'sum(agent_seconds)',
      agent_hours: `sum(cast(agent_seconds as double precision) / ${observedSecondsOfHour})`,
    },
    from: 'fct_availability_hour group by project_id, date',
  },
]
