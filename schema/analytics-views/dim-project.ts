/** Projects, and how fresh their facts are: every object leads here by `project_id`. */
import type { AnalyticsView } from './analytics-view.ts'
import { count, flag, optional, projectId, text, time } from './view-columns.ts'

export const dimProject: AnalyticsView = {
  note: 'One row for each project: its time zone, and until when its facts are complete.',
  caveat:
    'as_of speaks of what the service had then. Facts that are due have changed in the mirror and are derived again with the next sync.',
  key: ['project_id'],
  columns: {
    project_id: projectId,
    time_zone: optional(text('the time zone of all dates and hours; null = no facts yet')),
    mirrored_since: time('when the mirror began: reopenings before it are not known'),
    as_of: optional(time('conversations and messages are complete up to this time; null = not read to the end yet')),
    visits_as_of: optional(time('the same for activity of visitors; null also = not mirrored')),
    calls_as_of: optional(time('the same for calls')),
    availability_as_of: optional(time('when the availability was last asked for')),
    facts_due: count('conversations, visitors and hours whose facts are to be derived again'),
    is_rebuilding: flag('facts are being derived anew, so not all numbers are there'),
    has_personal_data: flag('false = names and addresses of visitors are left out'),
  },
  select: () => `
    select s.project_id, nullif(s.time_zone, '') as time_zone, s.mirrored_since,
      case when f.core_streams = 2 then f.as_of end as as_of, f.visits_as_of, f.calls_as_of, f.availability_as_of,
      coalesce(d.facts_due, 0) as facts_due,
      s.rebuilt_to is not null or s.fingerprint = '' as is_rebuilding,
      s.personal_data as has_personal_data
    from facts_state s
    left join (
      select project_id,
        count(case when stream in ('conversations', 'messages') then synced_at end) as core_streams,
        min(case when stream in ('conversations', 'messages') then synced_at end) as as_of,
        min(case when stream = 'visitor_activity' then synced_at end) as visits_as_of,
        min(case when stream = 'calls' then synced_at end) as calls_as_of,
        min(case when stream = 'availability' then synced_at end) as availability_as_of
      from sync_streams
      group by project_id
    ) f on f.project_id = s.project_id
    left join (select project_id, count(*) as facts_due from facts_due group by project_id) d
      on d.project_id = s.project_id`,
}
