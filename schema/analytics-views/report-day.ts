/** The day and the month in one row: the numbers that a lead reads first. */
import type { AnalyticsView } from './analytics-view.ts'
import { type MergedSource, mergeByKey } from './by-windows.ts'
import { answersByDay } from './report-durations.ts'
import {
  count,
  date,
  distinct,
  duration,
  flag,
  level,
  meanSeconds,
  number,
  optional,
  projectId,
  seconds,
} from './view-columns.ts'

const measures = {
  started: count('conversations created'),
  ai_only: count('of these, those in which the AI wrote and no human'),
  incomplete: count('of these, those whose messages, times or senders are not all known'),
  waits: count('times that a visitor began to wait'),
  answered_by_human: count('of these, ended by a message of a human'),
  answered_by_ai: count('ended by a message of the AI'),
  closed_without_answer: count('ended when the conversation was handled, without an answer'),
  ongoing_waits: count('not ended yet; with the three above, the sum is waits'),
  visitor_messages: count('messages that visitors wrote on this day'),
  human_answer_median_seconds: optional(meanSeconds('median of the waits for a human')),
  human_answer_p90_seconds: optional(duration('nine tenths of these waits took this long at most')),
  human_answer_business_median_seconds: optional(meanSeconds('median of these waits within business hours')),
  calls: count('calls that started'),
  opened: count('conversations that entered the backlog for the first time'),
  reopenings: count('times that a handled conversation was reopened, as far as this was seen'),
  handlings: count('times that an open conversation was marked handled'),
  open_at_end: level('conversations open at the end of the day'),
  waiting_at_end: level('of these, those whose visitor was waiting'),
}

export const reportDay: AnalyticsView = {
  note: 'One row for each day until today: volume, response times, backlog and calls.',
  caveat:
    'Each number counts by its own date: conversations by creation, waits and response times by when the visitor asked. The last row is today so far, and the newest days still change.',
  key: ['project_id', 'date'],
  columns: {
    project_id: projectId,
    date: date('the local day'),
    weekday: number('1 = Monday to 7 = Sunday'),
    is_weekend: flag('Saturday or Sunday'),
    is_holiday: flag('the settings give this day hours of its own'),
    ...measures,
  },
  select: () => `
    select v.project_id, v.date, d.weekday, d.is_weekend, d.is_holiday,
      ${Object.keys(measures)
        .map((name) => `v.${name}`)
        .join(', ')}
    from (${mergeByKey({ key: ['project_id', 'date'], columns: measures, sources })}
    ) v
    join dim_date d on d.project_id = v.project_id and d.date = v.date`,
}

/** A view or query by day; the columns keep their names, or get others. */
function fromView(view: string, columns: readonly string[] | Readonly<Record<string, string>>): MergedSource {
  const named = Array.isArray(columns) ? Object.fromEntries(columns.map((name) => [name, name])) : columns
  return { key: ['project_id', 'date'], columns: named as Readonly<Record<string, string>>, from: view }
}

const sources = [
  fromView('report_backlog_day', ['opened', 'reopenings', 'handlings', 'open_at_end', 'waiting_at_end']),
  {
    key: ['project_id', 'created_date'],
    columns: {
      started: 'count(*)',
      ai_only: "count(case when answered_by = 'ai' then 1 end)",
      incomplete: 'count(case when not is_complete then 1 end)',
    },
    from: 'fct_conversation where created_date is not null group by project_id, created_date',
  },
  fromView('report_wait_day', [
    ...['waits', 'answered_by_human', 'answered_by_ai', 'closed_without_answer', 'ongoing_waits'],
  ]),
  fromView("fct_contribution where role = 'visitor' group by project_id, date", { visitor_messages: 'sum(messages)' }),
  // Not the view report_answer_day: Postgres would also plan, and compile, what its other clocks need.
  fromView(`(${answersByDay('human_seconds')}) answers`, {
    human_answer_median_seconds: 'median_value',
    human_answer_p90_seconds: 'p90_value',
  }),
  fromView(`(${answersByDay('human_business_seconds')}) business_answers`, {
    human_answer_business_median_seconds: 'median_value',
  }),
  fromView('report_call_day', ['calls']),
]

/** The month in one row: conversations beside calls, and the different visitors in them. */
const monthMeasures = {
  conversations: count('conversations created'),
  calls: count('calls that started'),
  call_seconds: seconds('total length of these, as far as it is known'),
  writing_visitors: distinct('different visitors of these conversations'),
  calling_visitors: distinct('different visitors of these calls, as far as they are known'),
  visitors: distinct('different visitors of both'),
}

const contacts = `(
          select project_id, created_date as date, visitor_id, 'conversation' as kind
          from fct_conversation
          where visitor_id is not null and created_date is not null
          union all
          select project_id, started_date, visitor_id, 'call'
          from fct_call
          where visitor_id is not null and started_date is not null
        ) c`

const joinMonth = (date: string) => `join dim_date d on d.project_id = c.project_id and d.date = ${date}
        group by c.project_id, d.month`
const key = ['c.project_id', 'd.month']

export const reportMonth: AnalyticsView = {
  note: 'Conversations and calls of each month side by side, and how many different visitors they came from.',
  caveat: 'Conversations count for the month of their creation, and calls for that in which they started.',
  key: ['project_id', 'month'],
  columns: { project_id: projectId, month: date('first day of the month'), ...monthMeasures },
  select: () =>
    mergeByKey({
      key: ['project_id', 'month'],
      columns: monthMeasures,
      sources: [
        {
          key,
          columns: { conversations: 'count(*)' },
          from: `fct_conversation c ${joinMonth('c.created_date')}`,
        },
        {
          key,
          columns: { calls: 'count(*)', call_seconds: 'sum(c.seconds)' },
          from: `fct_call c ${joinMonth('c.started_date')}`,
        },
        {
          key,
          columns: {
            writing_visitors: "count(distinct case when c.kind = 'conversation' then c.visitor_id end)",
            calling_visitors: "count(distinct case when c.kind = 'call' then c.visitor_id end)",
            visitors: 'count(distinct c.visitor_id)',
          },
          from: `${contacts} ${joinMonth('c.date')}`,
        },
      ],
    }),
}
