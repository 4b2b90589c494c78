/**
 * The demo's queries of the mirror: plain SQL, to copy. Written for SQLite, and for fields that the sandbox shows
 * beyond the documented ones (`type`, `title`, `direction`, `duration_seconds`).
 */

export type DemoQuery = { readonly title: string; readonly sql: string }

export const rowCountQuery: DemoQuery = {
  title: 'What is in the warehouse',
  sql: `select 'conversations' as "table", count(*) as "rows" from conversations
union all select 'messages', count(*) from messages
union all select 'visitors', count(*) from visitors
union all select 'visitor_activity', count(*) from visitor_activity
union all select 'calls', count(*) from calls
union all select 'call_recordings', count(*) from call_recordings
union all select 'analytics_rollups', count(*) from analytics_rollups
union all select 'analytics_metrics', count(*) from analytics_metrics
union all select 'availability_snapshots', count(*) from availability_snapshots
union all select 'conversation_changes', count(*) from conversation_changes`,
}

export const demoQueries: readonly DemoQuery[] = [
  {
    title: 'Who waits for an answer, and for how long',
    sql: `select v.name, c.waiting_since,
       round((julianday('now') - julianday(c.waiting_since)) * 24, 1) as hours
from conversations c left join visitors v on v.id = c.visitor_id
where c.handled_at is null and c.waiting_since is not null and c.deleted_at is null
order by c.waiting_since limit 5`,
  },
  {
    title: 'Messages a day',
    sql: `select date(created_at) as day, count(*) as messages,
       sum(sender_type = 'agent') as by_agents, sum(sender_type = 'visitor') as by_visitors
from messages where kind = 'utterance' and deleted_at is null
group by day order by day desc limit 7`,
  },
  {
    title: 'Each day in one row, with the median wait for a human',
    sql: `select date, started, waits, unanswered, round(human_answer_median_seconds / 60, 1) as median_minutes, handled, open_at_end
from report_day order by date desc limit 7`,
  },
  {
    title: 'Everything that one visitor did',
    sql: `with who as (select visitor_id as id from visitor_activity group by 1 order by max(occurred_at) desc limit 1)
select occurred_at as at, type as what, title as detail
from visitor_activity where visitor_id in who and deleted_at is null
union all
select m.created_at, m.sender_type || ' wrote', m.content
from messages m join conversations c on c.id = m.conversation_id where c.visitor_id in who and m.deleted_at is null
order by at desc limit 8`,
  },
  {
    title: 'The latest calls, and whether they were recorded',
    sql: `select c.occurred_at, v.name, c.direction, c.duration_seconds as seconds,
       case r.has_recording when 1 then 'yes' else 'no' end as recorded
from calls c join call_recordings r on r.call_id = c.id left join visitors v on v.id = c.visitor_id
where c.deleted_at is null
order by c.occurred_at desc limit 5`,
  },
  {
    title: 'What changed between the two syncs (the service keeps no such history)',
    sql: `select substr(conversation_id, 1, 8) || '…' as conversation, field, old_value, new_value
from conversation_changes order by id limit 10`,
  },
  {
    title: 'Columns for undocumented fields, discovered on the way',
    sql: `select stream, path, column_name as "column", type
from discovered_fields order by stream, path limit 8`,
  },
]
