/** What the numbers leave out or cannot know, and how old each stream of the mirror is. */

import { queryView, untilNow } from './by-windows.ts'
import { visitorOfCall } from './calls.ts'
import type { SqlDialect } from './sql-dialect.ts'
import { type AnalyticsView, kind, orNull, projectId } from './view-spec.ts'

type Check = readonly [what: string, meaning: string, all: string, wrong: string]

const rowsOf = (table: string, condition: string) =>
  `(select count(*) from ${table} m where m.project_id = p.project_id and ${condition})`
const sumOf = (expression: string) =>
  `(select coalesce(sum(${expression}), 0) from fct_conversation c
    where c.project_id = p.project_id)`
const isUndated = (time: string) => `m.${time} is null and m.deleted_at is null`
const isOutsideOfCalendar = `m.created_date is not null and not exists (
        select 1 from dim_date d where d.project_id = m.project_id and d.date = m.created_date)`
/** Where visitors are not mirrored at all, that is no fault of the numbers. */
const isOfMissingVisitor = `m.visitor_id is not null
      and exists (select 1 from visitors v where v.project_id = p.project_id)
      and not exists (select 1 from visitors v where v.project_id = m.project_id
        and v.id = m.visitor_id and v.deleted_at is null)`

const ofConversations = (what: string, wrong: string, meaning: string): Check => {
  return [what, meaning, rowsOf('fct_conversation', '1 = 1'), rowsOf('fct_conversation', wrong)]
}
/** `all`: of messages, counting them one by one would take a second for a million. */
const ofDeleted = (table: string, all = rowsOf(table, '1 = 1')): Check => {
  const meaning =
    'no longer in the service: left out of all facts, and perhaps ' +
    'still in the rollups of the service'
  return [`deleted ${table}`, meaning, all, rowsOf(table, 'm.deleted_at is not null')]
}

/** An index has both counts; those that are left would be read one by one. */
const livingCalls = `${rowsOf('calls', '1 = 1')} - ${rowsOf('calls', 'm.deleted_at is not null')}`

const checksOf = (sql: SqlDialect): readonly Check[] => [
  ofConversations(
    'incomplete conversations',
    'not m.is_complete',
    'messages are missing, lack a time or have unknown senders: left out of all response times',
  ),
  [
    'unknown sender types',
    'utterances of senders whose role is unknown: never counted as an answer; see dim_sender_type',
    sumOf('c.messages - c.system_events'),
    sumOf('c.other_messages'),
  ],
  [
    'messages without a time',
    'counted in fct_conversation, and in nothing that depends on a time',
    sumOf('c.messages'),
    rowsOf('messages', isUndated('created_at')),
  ],
  ofConversations(
    'conversations without a time of creation',
    'm.created_at is null',
    'in no number by day of creation, and not in the backlog',
  ),
  ofConversations(
    'conversations outside of the calendar',
    isOutsideOfCalendar,
    'created before 2000 or in years to come: in no number by week or month',
  ),
  ofConversations(
    'history before the mirror',
    'not m.history_complete',
    'conversations from before the mirror began: their earlier reopenings are not known',
  ),
  ofConversations(
    'conversations of visitors who are not here',
    isOfMissingVisitor,
    'deleted, or not in what the service lists: missing in dim_visitor, and in what is joined to it',
  ),
  [
    'calls without a visitor',
    'the service shows none, or analytics.calls does not name the field: in no number of visitors',
    livingCalls,
    // fct_call would look up much more of each.
    `(select count(*) from calls c left join call_fields f on f.project_id = c.project_id
      where c.project_id = p.project_id and c.deleted_at is null
        and ${visitorOfCall(sql)} is null)`,
  ],
  [
    'calls without a time',
    'the service does not show when they started: in no number by day or month',
    livingCalls,
    rowsOf('calls', isUndated('occurred_at')),
  ],
  [
    'activity without a time',
    'the service does not show when it was: in no visit',
    `(select coalesce(sum(v.entries), 0) from fct_visit v where v.project_id = p.project_id)
    + ${rowsOf('visitor_activity', isUndated('occurred_at'))}`,
    rowsOf('visitor_activity', isUndated('occurred_at')),
  ],
  ...['conversations', 'visitors', 'calls'].map((table) => ofDeleted(table)),
  ofDeleted(
    'messages',
    `${sumOf('c.messages')} + ${rowsOf('messages', 'm.deleted_at is not null')}`,
  ),
]

export const qualityViews = {
  report_quality: {
    note: 'How many rows the numbers leave out or cannot fully know, and why.',
    caveat: 'Over the whole history, not over the period of a dashboard.',
    key: ['project_id', 'what'],
    columns: {
      project_id: projectId,
      what: kind.key('what is checked'),
      rows_all: kind.level('rows that were checked'),
      rows_wrong: kind.level('of these, rows to which the check applies'),
      meaning: kind.text('what it means for the numbers'),
    },
    select: (sql) => {
      const arms = checksOf(sql).map(
        ([what, meaning, all, wrong]) => `
    select p.project_id, '${what}' as what, cast(${all} as bigint) as rows_all,
      cast(${wrong} as bigint) as rows_wrong,
      '${meaning}' as meaning
    from facts_state p`,
      )
      return arms.join('\n    union all')
    },
  },
  report_freshness: queryView({
    note:
      'One row for each stream of each project: when it was last read to ' +
      'its end, and what it lacks.',
    caveat: 'The facts may lag behind the streams: see facts_due in dim_project.',
    key: { project_id: projectId, stream: kind.key('the stream') },
    columns: {
      synced_at: orNull.time('when it was last read to its end; null = never'),
      seconds_ago: untilNow('from synced_at until now', 'synced_at'),
      skipped: orNull.text('the scope that the key lacks, so that it is skipped'),
      failed: orNull.text('why the last sync failed'),
      open_gaps: [
        kind.count('gaps in sync_gaps that are not resolved'),
        `(select count(*) from sync_gaps g
        where g.project_id = s.project_id and g.stream = s.stream and g.resolved_at is null)`,
      ],
      never_read: [
        kind.count(
          'conversations, visitors or calls whose rows of this stream have never been read',
        ),
        `(select count(*) from sync_children n
        where n.project_id = s.project_id and n.stream = s.stream and n.due_at is not null
        and n.read_version = 0)`,
      ],
    },
    from: 'sync_streams s',
  }),
} satisfies Record<string, AnalyticsView>
