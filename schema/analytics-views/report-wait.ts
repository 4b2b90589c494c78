/** Every wait of a visitor with what is known of its conversation: for questions of one's own, without a join. */
import type { AnalyticsView } from './analytics-view.ts'
import { type AnalyticsTableName, tableColumn } from './table-columns.ts'
import { count } from './view-columns.ts'

const columnsOf = (table: AnalyticsTableName, ...names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, tableColumn(table, name)]))

export const reportWait: AnalyticsView = {
  note: 'One row for each time that a visitor began to wait, with its conversation and its day.',
  caveat: 'Includes incomplete conversations: filter by is_complete where durations matter.',
  key: ['project_id', 'conversation_id', 'wait_number'],
  columns: {
    ...columnsOf('fct_wait', 'project_id', 'conversation_id', 'wait_number'),
    ...columnsOf('fct_conversation', 'visitor_id', 'origin', 'assigned_agent_id', 'opened_by', 'is_complete'),
    ...columnsOf('fct_wait', 'started_at', 'started_date', 'started_hour'),
    ...columnsOf('dim_date', 'weekday', 'week', 'month'),
    visitor_messages: { ...count('messages of the visitor in the run'), type: 'int32' },
    ...columnsOf('fct_wait', 'ended_by', 'ended_at', 'ended_by_name', 'answer_seconds', 'answer_business_seconds'),
    ...columnsOf('fct_wait', 'human_answered_at', 'human_name', 'human_seconds', 'human_business_seconds'),
    ...columnsOf('fct_wait', 'ai_answers', 'after_ai_seconds'),
  },
  select: () => `
    select w.project_id, w.conversation_id, w.wait_number, c.visitor_id, c.origin, c.assigned_agent_id, c.opened_by,
      c.is_complete, w.started_at, w.started_date, w.started_hour, d.weekday, d.week, d.month,
      w.messages as visitor_messages, w.ended_by, w.ended_at, w.ended_by_name, w.answer_seconds,
      w.answer_business_seconds, w.human_answered_at, w.human_name, w.human_seconds, w.human_business_seconds,
      w.ai_answers, w.after_ai_seconds
    from fct_wait w
    join fct_conversation c on c.project_id = w.project_id and c.conversation_id = w.conversation_id
    left join dim_date d on d.project_id = w.project_id and d.date = w.started_date`,
}
