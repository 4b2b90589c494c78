/** How many visitors began to wait on each day, and who ended their waits. */
import type { AnalyticsView } from './analytics-view.ts'
import { count, date, projectId } from './view-columns.ts'

export const reportWaitDay: AnalyticsView = {
  note: 'Waits by the day on which the visitor asked. Waits are the sum of their four ends.',
  caveat: 'An end may come on a later day. A visitor who writes again after an answer begins another wait.',
  key: ['project_id', 'date'],
  columns: {
    project_id: projectId,
    date: date('the day on which the visitors asked'),
    waits: count('times that a visitor began to wait'),
    first_waits: count('of these, the first of their conversations'),
    answered_by_human: count('ended by a message of a human'),
    answered_by_ai: count('ended by a message of the AI'),
    closed_without_answer: count('ended when the conversation was handled, without an answer: often a last thank-you'),
    unanswered: count('not ended yet'),
    visitor_messages: count('messages of visitors'),
  },
  select: () => `
    select project_id, started_date as date,
      count(*) as waits,
      count(case when wait_number = 1 then 1 end) as first_waits,
      count(case when ended_by = 'human' then 1 end) as answered_by_human,
      count(case when ended_by = 'ai' then 1 end) as answered_by_ai,
      count(case when ended_by = 'handled' then 1 end) as closed_without_answer,
      count(case when ended_by = 'nobody' then 1 end) as unanswered,
      sum(messages) as visitor_messages
    from fct_wait
    group by project_id, started_date`,
}
