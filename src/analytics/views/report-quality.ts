/** What the numbers leave out or cannot know: one row for each reason to be careful. */
import type { AnalyticsView } from './analytics-view.ts'
import * as kind from './view-columns.ts'

type Check = { readonly what: string; readonly meaning: string; readonly all: string; readonly wrong: string }

const conversationsWhere = (condition: string) =>
  `(select count(*) from fct_conversation c where c.project_id = p.project_id and ${condition})`
const rowsOf = (table: string, condition: string) =>
  `(select count(*) from ${table} m where m.project_id = p.project_id and ${condition})`
const sumOf = (expression: string) =>
  `(select coalesce(sum(${expression}), 0) from fct_conversation c where c.project_id = p.project_id)`

const deletedMeaning =
  'no longer in the service: left out of all facts, and perhaps still in the rollups of the service'

const checks: readonly Check[] = [
  {
    what: 'incomplete conversations',
    meaning: 'messages are missing, lack a time or have unknown senders: left out of all response times',
    all: conversationsWhere('1 = 1'),
    wrong: conversationsWhere('not c.is_complete'),
  },
  {
    what: 'unknown sender types',
    meaning: 'utterances of senders whose role is unknown: never counted as an answer; see dim_sender_type',
    all: sumOf('c.messages - c.system_events'),
    wrong: sumOf('c.other_messages'),
  },
  {
    what: 'messages without a time',
    meaning: 'counted in fct_conversation, and in nothing that depends on a time',
    all: sumOf('c.messages'),
    wrong: rowsOf('messages', 'm.created_at is null and m.deleted_at is null'),
  },
  {
    what: 'conversations without a time of creation',
    meaning: 'in no number by day of creation, and not in the backlog',
    all: conversationsWhere('1 = 1'),
    wrong: conversationsWhere('c.created_at is null'),
  },
  {
    what: 'conversations outside of the calendar',
    meaning: 'created before 2000 or in years to come: in no number by week or month',
    all: conversationsWhere('1 = 1'),
    wrong: conversationsWhere(`c.created_date is not null and not exists (
        select 1 from dim_date d where d.project_id = c.project_id and d.date = c.created_date)`),
  },
  {
    what: 'history before the mirror',
    meaning: 'conversations from before the mirror began: their earlier reopenings are not known',
    all: conversationsWhere('1 = 1'),
    wrong: conversationsWhere('not c.history_complete'),
  },
  ...['conversations', 'visitors', 'calls'].map((table) => ({
    what: `deleted ${table}`,
    meaning: deletedMeaning,
    all: rowsOf(table, '1 = 1'),
    wrong: rowsOf(table, 'm.deleted_at is not null'),
  })),
  {
    what: 'deleted messages',
    meaning: deletedMeaning,
    // Counting all messages one by one would take a second for a million.
    all: `${sumOf('c.messages')} + ${rowsOf('messages', 'm.deleted_at is not null')}`,
    wrong: rowsOf('messages', 'm.deleted_at is not null'),
  },
]

export const reportQuality: AnalyticsView = {
  note: 'How many rows the numbers leave out or cannot fully know, and why.',
  caveat: 'Over the whole history, not over the period of a dashboard.',
  key: ['project_id', 'what'],
  columns: {
    project_id: kind.projectId,
    what: kind.key('what is checked'),
    rows_all: kind.level('rows that were checked'),
    rows_wrong: kind.level('of these, rows to which the check applies'),
    meaning: kind.text('what it means for the numbers'),
  },
  select: () =>
    checks
      .map(
        ({ what, meaning, all, wrong }) => `
    select p.project_id, '${what}' as what, cast(${all} as bigint) as rows_all,
      cast(${wrong} as bigint) as rows_wrong, '${meaning}' as meaning
    from facts_state p`,
      )
      .join('\n    union all'),
}

/** How old each stream of the mirror is, and what it lacks. */
export const reportFreshness: AnalyticsView = {
  note: 'One row for each stream of each project: when it was last read to its end, and what it lacks.',
  caveat: 'The facts may lag behind the streams: see facts_due in dim_project.',
  key: ['project_id', 'stream'],
  columns: {
    project_id: kind.projectId,
    stream: kind.key('the stream'),
    synced_at: kind.optional(kind.time('when it was last read to its end; null = never')),
    seconds_ago: kind.optional(kind.duration('from synced_at until now')),
    skipped: kind.optional(kind.text('the scope that the key lacks, so that it is skipped')),
    failed: kind.optional(kind.text('why the last sync failed')),
    open_gaps: kind.count('gaps in sync_gaps that are not resolved'),
    never_read: kind.count('conversations, visitors or calls whose rows of this stream have never been read'),
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
