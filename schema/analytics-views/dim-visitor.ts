/** Visitors with what they did so far. */
import type { AnalyticsView } from './analytics-view.ts'
import { count, flag, key, optional, projectId, text, time } from './view-columns.ts'

export const dimVisitor: AnalyticsView = {
  note: 'One row for each visitor who exists, with conversations and visits so far.',
  caveat: 'Deleted visitors are left out, so conversations may lead to a visitor that is not here.',
  key: ['project_id', 'visitor_id'],
  columns: {
    project_id: projectId,
    visitor_id: key('the visitor, in visitors'),
    name: optional(text('null = not known, or the settings leave out personal data')),
    email: optional(text('null = not known, or the settings leave out personal data')),
    has_email: flag('the visitor has an address'),
    conversations: count('conversations'),
    open_conversations: count('of these, open ones'),
    messages_written: count('messages that the visitor wrote'),
    first_contact_at: optional(time('when the first conversation was created')),
    last_utterance_at: optional(time('when anybody last wrote in one of them')),
    visits: count('visits'),
    first_visit_at: optional(time('when the first visit began')),
    last_activity_at: optional(time('when the last visit ended')),
  },
  select: () => `
    select v.project_id, v.id as visitor_id,
      case when s.personal_data then v.name end as name,
      case when s.personal_data then v.email end as email,
      v.email is not null as has_email,
      coalesce(c.conversations, 0) as conversations,
      coalesce(c.open_conversations, 0) as open_conversations,
      cast(coalesce(c.messages_written, 0) as bigint) as messages_written,
      c.first_contact_at, c.last_utterance_at,
      coalesce(a.visits, 0) as visits,
      a.first_visit_at, a.last_activity_at
    from visitors v
    left join facts_state s on s.project_id = v.project_id
    left join (
      select project_id, visitor_id,
        count(*) as conversations,
        count(case when is_open then 1 end) as open_conversations,
        sum(visitor_messages) as messages_written,
        min(created_at) as first_contact_at,
        max(last_utterance_at) as last_utterance_at
      from fct_conversation
      where visitor_id is not null
      group by project_id, visitor_id
    ) c on c.project_id = v.project_id and c.visitor_id = v.id
    left join (
      select project_id, visitor_id, count(*) as visits, min(started_at) as first_visit_at,
        max(ended_at) as last_activity_at
      from fct_visit
      group by project_id, visitor_id
    ) a on a.project_id = v.project_id and a.visitor_id = v.id
    where v.deleted_at is null`,
}
