/** What the AI did with the conversations of each month. */
import type { AnalyticsView } from './analytics-view.ts'
import { count, date, optional, projectId, share } from './view-columns.ts'

export const reportAiMonth: AnalyticsView = {
  note: 'Conversations of each month with the AI: which it answered alone, and which it handed over.',
  caveat:
    'ai_only says that no human wrote. It does not say that the visitor was helped: the service shows no rating and no request for a human.',
  key: ['project_id', 'month'],
  columns: {
    project_id: projectId,
    month: date('first day of the month in which the conversations were created'),
    conversations: count('conversations'),
    with_ai: count('in which the AI wrote'),
    ai_only: count('in which the AI wrote and no human'),
    ai_only_and_handled: count('of these, those that are handled and whose last message is not the visitor’s'),
    handed_over: count('in which the AI and a human wrote'),
    ai_only_share: optional(share('ai_only / with_ai; null = the AI wrote in none')),
  },
  select: () => `
    select c.project_id, d.month,
      count(*) as conversations,
      count(case when c.ai_messages > 0 then 1 end) as with_ai,
      count(case when c.answered_by = 'ai' then 1 end) as ai_only,
      count(case when c.answered_by = 'ai' and not c.is_open and c.last_utterance_by <> 'visitor' then 1 end)
        as ai_only_and_handled,
      count(case when c.answered_by = 'human and ai' then 1 end) as handed_over,
      cast(count(case when c.answered_by = 'ai' then 1 end) as double precision)
        / nullif(count(case when c.ai_messages > 0 then 1 end), 0) as ai_only_share
    from fct_conversation c
    join dim_date d on d.project_id = c.project_id and d.date = c.created_date
    group by c.project_id, d.month`,
}
