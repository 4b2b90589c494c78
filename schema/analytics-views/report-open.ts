/** The queue now: every open conversation. */
import type { AnalyticsView } from './analytics-view.ts'
import { tableColumn } from './table-columns.ts'
import { duration, key, optional, projectId, text, time } from './view-columns.ts'

export const reportOpen: AnalyticsView = {
  note: 'Every open conversation: who waits, since when, and who wrote last.',
  caveat:
    'As of the last sync: see dim_project.as_of. waiting_since is our own; the service’s is conversations.waiting_since.',
  key: ['project_id', 'conversation_id'],
  columns: {
    project_id: projectId,
    conversation_id: key('the conversation'),
    visitor_id: optional(key('the visitor')),
    visitor_name: optional(text('name of the visitor; null also if the settings leave out personal data')),
    visitor_email: optional(text('address of the visitor; null also if the settings leave out personal data')),
    origin: tableColumn('fct_conversation', 'origin'),
    assigned_agent_id: tableColumn('fct_conversation', 'assigned_agent_id'),
    created_at: tableColumn('fct_conversation', 'created_at'),
    waiting_since: optional(time('since when the visitor has been waiting; null = the visitor is not waiting')),
    waiting_seconds: optional(duration('from waiting_since until now')),
    age_seconds: optional(duration('from created_at until now')),
    last_utterance_by: tableColumn('fct_conversation', 'last_utterance_by'),
    last_utterance_at: tableColumn('fct_conversation', 'last_utterance_at'),
    first_human_at: tableColumn('fct_conversation', 'first_human_at'),
    human_messages: tableColumn('fct_conversation', 'human_messages'),
  },
  select: (sql) => `
    select c.project_id, c.conversation_id, c.visitor_id,
      case when s.personal_data then v.name end as visitor_name,
      case when s.personal_data then v.email end as visitor_email,
      c.origin, c.assigned_agent_id, c.created_at, c.waiting_since,
      ${sql.epoch(sql.now)} - ${sql.epoch('c.waiting_since')} as waiting_seconds,
      ${sql.epoch(sql.now)} - ${sql.epoch('c.created_at')} as age_seconds,
      c.last_utterance_by, c.last_utterance_at, c.first_human_at, c.human_messages
    from fct_conversation c
    left join facts_state s on s.project_id = c.project_id
    left join visitors v on v.project_id = c.project_id and v.id = c.visitor_id and v.deleted_at is null
    where c.is_open`,
}
