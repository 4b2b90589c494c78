/** Conversations by the day of their creation: who answered them, and how long the first human answer took. */
import type { AnalyticsView } from './analytics-view.ts'
import { mergeByKey } from './merge-by-key.ts'
import { percentilesOf } from './percentiles.ts'
import { count, date, duration, meanSeconds, optional, projectId } from './view-columns.ts'

const measures = {
  started: count('conversations created on this day'),
  incomplete: count('of these, those whose messages, times or senders are not all known'),
  unanswered: count('in which only the visitor wrote'),
  ai_only: count('in which the AI wrote and no human'),
  human_and_ai: count('in which both wrote'),
  human_only: count('in which humans wrote and not the AI'),
  one_touch: count('handled after one run of human messages, with no reopening seen; see history_complete'),
  reopened: count('with a reopening seen; see history_complete'),
  history_complete: count('watched from their creation on: shares of one_touch and reopened are exact only of these'),
  with_first_human: count('complete conversations in which a human answered the first wait'),
  first_human_median_seconds: optional(meanSeconds('median of their first human answer')),
  first_human_p90_seconds: optional(duration('nine tenths of these answers took this long at most')),
}

export const reportConversationDay: AnalyticsView = {
  note: 'Conversations by the day of their creation, as they are now. unanswered, ai_only, human_and_ai and human_only add up to started.',
  caveat: 'What happened later counts for the day of creation, so the newest days still change.',
  key: ['project_id', 'date'],
  columns: { project_id: projectId, date: date('the day of creation'), ...measures },
  select: () =>
    mergeByKey({
      key: ['project_id', 'date'],
      columns: measures,
      sources: [
        {
          key: ['project_id', 'created_date'],
          columns: {
            started: 'count(*)',
            incomplete: 'count(case when not is_complete then 1 end)',
            unanswered: "count(case when answered_by = 'nobody' then 1 end)",
            ai_only: "count(case when answered_by = 'ai' then 1 end)",
            human_and_ai: "count(case when answered_by = 'human and ai' then 1 end)",
            human_only: "count(case when answered_by = 'human' then 1 end)",
            one_touch: 'count(case when is_one_touch then 1 end)',
            reopened: 'count(case when reopens_seen > 0 then 1 end)',
            history_complete: 'count(case when history_complete then 1 end)',
          },
          from: 'fct_conversation where created_date is not null group by project_id, created_date',
        },
        {
          key: ['project_id', 'date'],
          columns: {
            with_first_human: 'values_counted',
            first_human_median_seconds: 'median_value',
            first_human_p90_seconds: 'p90_value',
          },
          from: `(${percentilesOf({
            groups: { project_id: 'project_id', date: 'created_date' },
            value: 'first_human_seconds',
            from: `fct_conversation
        where first_human_seconds is not null and is_complete and created_date is not null`,
          })}) first_answers`,
        },
      ],
    }),
}
