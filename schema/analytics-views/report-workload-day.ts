/** Substitutes for handle time and occupancy, which cannot be computed: named as what they are. */
import type { AnalyticsView } from './analytics-view.ts'
import { mergeByKey } from './merge-by-key.ts'
import { percentilesOf } from './percentiles.ts'
import { observedSecondsOfHour } from './report-hour.ts'
import { count, date, duration, mean, meanSeconds, optional, projectId, seconds } from './view-columns.ts'

const merged = {
  handled: count('conversations whose last handling was on this day'),
  handled_with_human: count('of these, those in which a human wrote'),
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
    human_turns_per_conversation: optional(mean('human_turns / handled_with_human')),
    human_messages_per_conversation: optional(mean('human_messages / handled_with_human')),
    human_answers_per_agent_hour: optional(
      mean(
        'human answers for each hour of an online agent, in the hours in which some were observed; null = none were',
      ),
    ),
  },
  select: () => `
    select project_id, date, ${Object.keys(merged).join(', ')},
      cast(human_turns as double precision) / nullif(handled_with_human, 0) as human_turns_per_conversation,
      cast(human_messages as double precision) / nullif(handled_with_human, 0) as human_messages_per_conversation,
      observed_answers / nullif(agent_hours, 0) as human_answers_per_agent_hour
    from (${mergeByKey({ key: ['project_id', 'date'], columns: { ...merged, ...observed }, sources })}) w`,
}

const sources = [
  {
    key: ['project_id', 'handled_date'],
    columns: {
      handled: 'count(*)',
      handled_with_human: 'count(case when human_messages > 0 then 1 end)',
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
    from: `fct_wait w
        join fct_availability_hour a
          on a.project_id = w.project_id and a.date = w.human_answered_date and a.hour = w.human_answered_hour
        where w.human_answered_date is not null and a.observed_seconds > 0
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
