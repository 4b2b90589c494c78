/** How old each stream of the mirror is, and what it lacks. */
import type { AnalyticsView } from './analytics-view.ts'
import { count, duration, key, optional, projectId, text, time } from './view-columns.ts'

export const reportFreshness: AnalyticsView = {
  note: 'One row for each stream of each project: when it was last read to its end, and what it lacks.',
  caveat: 'The facts may lag behind the streams: see facts_due in dim_project.',
  key: ['project_id', 'stream'],
  columns: {
    project_id: projectId,
    stream: key('the stream'),
    synced_at: optional(time('when it was last read to its end; null = never')),
    seconds_ago: optional(duration('from synced_at until now')),
    skipped: optional(text('the scope that the key lacks, so that it is skipped')),
    failed: optional(text('why the last sync failed')),
    open_gaps: count('gaps in sync_gaps that are not resolved'),
    never_read: count('conversations, visitors or calls whose rows of this stream have never been read'),
  },
  select: (sql) => `
    select s.project_id, s.stream, s.synced_at,
      ${sql.epoch(sql.now)} - ${sql.epoch('s.synced_at')} as seconds_ago,
      s.skipped, s.failed,
      (select count(*) from sync_gaps g
        where g.project_id = s.project_id and g.stream = s.stream and g.resolved_at is null) as open_gaps,
      (select count(*) from sync_children n
        where n.project_id = s.project_id and n.stream = s.stream and n.due_at is not null and n.fetched = 0)
        as never_read
    from sync_streams s`,
}
