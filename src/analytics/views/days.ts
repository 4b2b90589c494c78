/** The day and the month in one row: the numbers that a lead reads first. */

import {
  columnsByDay,
  countIf,
  type MergedSource,
  median,
  mergeByKey,
  mergedColumns,
  mergedView,
  p90,
  queryView,
} from './by-windows.ts'
import { answersByDay } from './durations.ts'
import { type AnalyticsView, kind, projectId } from './view-spec.ts'

/** A view or query by day. */
const byDay = (from: string, columns: MergedSource['columns']) => ({
  key: ['project_id', 'date'],
  columns,
  from,
})

/** What is counted of a day, by where it is read. */
export const daySources = {
  conversations: columnsByDay('fct_conversation', 'created_date', {
    started: [kind.count('conversations created'), 'count(*)'],
    ai_only: countIf('of these, those in which the AI wrote and no human', "answered_by = 'ai'"),
    incomplete: countIf(
      'of these, those whose messages, times or senders are not all known',
      'not is_complete',
    ),
  }),
  waits: byDay('report_wait_day', {
    waits: kind.count('times that a visitor began to wait'),
    answered_by_human: kind.count('of these, ended by a message of a human'),
    answered_by_ai: kind.count('ended by a message of the AI'),
    closed_without_answer: kind.count('ended when the conversation was handled, without an answer'),
    ongoing_waits: kind.count('not ended yet; with the three above, the sum is waits'),
  }),
  messages: byDay("fct_contribution where role = 'visitor' group by project_id, date", {
    visitor_messages: [kind.count('messages that visitors wrote on this day'), 'sum(messages)'],
  }),
  // Of the view report_answer_day, Postgres would also plan and compile the other clocks.
  answers: byDay(`(${answersByDay('human_seconds')}) answers`, {
    human_answer_median_seconds: median('median of the waits for a human'),
    human_answer_p90_seconds: p90('nine tenths of these waits took this long at most'),
  }),
  businessAnswers: byDay(`(${answersByDay('human_business_seconds')}) business_answers`, {
    human_answer_business_median_seconds: median('median of these waits within business hours'),
  }),
  calls: byDay('report_call_day', { calls: kind.count('calls that started') }),
  backlog: byDay('report_backlog_day', {
    opened: kind.count('conversations that entered the backlog for the first time'),
    reopenings: kind.count(
      'times that a handled conversation was reopened, as far as this was seen',
    ),
    handlings: kind.count('times that an open conversation was marked handled'),
    open_at_end: kind.level('conversations open at the end of the day'),
    waiting_at_end: kind.level('of these, those whose visitor was waiting'),
  }),
}
const sources: readonly MergedSource[] = Object.values(daySources)

const contacts = `(
          select project_id, created_date as date, visitor_id, 'conversation' as kind
          from fct_conversation
          where visitor_id is not null and created_date is not null
          union all
          select project_id, started_date, visitor_id, 'call'
          from fct_call
          where visitor_id is not null and started_date is not null
        )`

const byMonth = (from: string, date: string, columns: MergedSource['columns']): MergedSource => ({
  key: ['c.project_id', 'd.month'],
  columns,
  from: `${from} c join dim_date d on d.project_id = c.project_id and d.date = c.${date}
        group by c.project_id, d.month`,
})

export const dayViews = {
  report_day: queryView({
    note:
      'One row for each day from that of the first conversation to today: volume, response ' +
      'times, backlog and calls.',
    caveat:
      'Each number counts by its own date: conversations by creation, waits and response ' +
      'times by when the visitor asked. Today is shown so far, ' +
      'and the newest days still change. An earlier or later day has a row if ' +
      'anything is dated on it, such as a call, or what the service dates ahead.',
    key: { project_id: [projectId, 'v.project_id'], date: [kind.date('the local day'), 'v.date'] },
    columns: {
      weekday: kind.number('1 = Monday to 7 = Sunday'),
      is_weekend: kind.flag('Saturday or Sunday'),
      is_holiday: kind.flag('the settings give this day hours of its own'),
      ...mergedColumns(sources),
    },
    from: `(${mergeByKey(['project_id', 'date'], sources)}
    ) v
    join dim_date d on d.project_id = v.project_id and d.date = v.date`,
  }),
  report_month: mergedView({
    note:
      'Conversations and calls of each month side by side, and how many ' +
      'different visitors they came from.',
    caveat:
      'Conversations count for the month of their creation, and calls ' +
      'for that in which they started.',
    key: { project_id: projectId, month: kind.date('first day of the month') },
    sources: [
      byMonth('fct_conversation', 'created_date', {
        conversations: [kind.count('conversations created'), 'count(*)'],
      }),
      byMonth('fct_call', 'started_date', {
        calls: [kind.count('calls that started'), 'count(*)'],
        call_seconds: [
          kind.seconds('total length of these, as far as it is known'),
          'sum(c.seconds)',
        ],
      }),
      byMonth(contacts, 'date', {
        writing_visitors: [
          kind.distinct('different visitors of these conversations'),
          "count(distinct case when c.kind = 'conversation' then c.visitor_id end)",
        ],
        calling_visitors: [
          kind.distinct('different visitors of these calls, as far as they are known'),
          "count(distinct case when c.kind = 'call' then c.visitor_id end)",
        ],
        visitors: [kind.distinct('different visitors of both'), 'count(distinct c.visitor_id)'],
      }),
    ],
  }),
} satisfies Record<string, AnalyticsView>
