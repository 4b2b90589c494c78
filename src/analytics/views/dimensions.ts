/** What facts and reports are grouped by: projects, hours, agents, visitors and conversations. */

import { queryView } from './by-windows.ts'
import { type AnalyticsView, kind, orNull, projectId, weighted } from './view-spec.ts'

const partsOfDay = ['night', 'morning', 'afternoon', 'evening']

const hours = Array.from({ length: 24 }, (_, hour) => {
  const label = `${String(hour).padStart(2, '0')}:00`
  return `
    select ${hour} as hour, '${label}' as label, '${partsOfDay[Math.floor(hour / 6)]}'
    as part_of_day`
})

const personalData = 'null = not known, or the settings leave out personal data'

export const dimensions = {
  dim_project: queryView({
    note: 'One row for each project: its time zone, and until when its facts are complete.',
    caveat:
      'as_of speaks of what the service had then. Facts that are due have changed in the ' +
      'mirror and are derived again with the next sync.',
    key: { project_id: [projectId, 's.project_id'] },
    columns: {
      time_zone: [
        orNull.text('the time zone of all dates and hours; null = no facts yet'),
        "nullif(s.time_zone, '')",
      ],
      mirrored_since: [
        kind.time('when the mirror began: reopenings before it are not known'),
        's.mirrored_since',
      ],
      as_of: [
        orNull.time(
          'conversations and messages are complete up to this time; null = not read to the end yet',
        ),
        'case when f.core_streams = 2 then f.as_of end',
      ],
      visits_as_of: orNull.time('the same for activity of visitors; null also = not mirrored'),
      calls_as_of: orNull.time('the same for calls'),
      availability_as_of: orNull.time('when the availability was last asked for'),
      facts_due: [
        kind.count('conversations, visitors and hours whose facts are to be derived again'),
        'coalesce(d.facts_due, 0)',
      ],
      is_rebuilding: [
        kind.flag('facts are being derived anew, so not all numbers are there'),
        "s.rebuilt_to is not null or s.fingerprint = ''",
      ],
      has_personal_data: [
        kind.flag('false = names and addresses of visitors are left out'),
        's.personal_data',
      ],
    },
    from: `facts_state s
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
  }),
  /** For labels, and for charts without holes. */
  dim_hour: {
    note: 'The 24 hours of the day. The same for all projects.',
    caveat: null,
    key: ['hour'],
    columns: {
      hour: kind.number('0 to 23'),
      label: kind.text('its beginning, such as 09:00'),
      part_of_day: kind.text(
        'night, morning, afternoon or evening: six hours each from midnight on',
      ),
    },
    select: () => hours.join(' union all'),
  },
  dim_agent: queryView({
    note:
      'One row for each agent to whom a conversation is assigned in which a human wrote, ' +
      'with the likely name.',
    caveat:
      'The service shows no list of agents: the name is the one most often on the last ' +
      'human message of the conversations of this id, and name_share says how often.',
    key: { project_id: projectId, agent_id: kind.key('the id that conversations are assigned to') },
    columns: {
      likely_name: [
        kind.text(
          'the name that these conversations end with most often, of several the first in ' +
            'alphabetical order; trust it only where name_share is high',
        ),
        'name',
      ],
      name_share: [
        weighted(kind.share('share of the conversations that show this name'), 'conversations'),
        'cast(conversations_with_name as double precision) / conversations',
      ],
      conversations: [
        kind.count('conversations assigned to the agent now, in which a human wrote'),
        'cast(conversations as bigint)',
      ],
    },
    from: (sql) => `(
      select project_id, agent_id, name, conversations_with_name,
        sum(conversations_with_name) over (partition by project_id, agent_id) as conversations,
        row_number() over (partition by project_id, agent_id order by conversations_with_name desc,
        ${sql.inByteOrder('name')}) as place
      from (
        select project_id, assigned_agent_id as agent_id, last_human_name as name, count(*)
        as conversations_with_name
        from fct_conversation
        where assigned_agent_id is not null and last_human_name is not null
        and last_human_name <> ''
        group by project_id, assigned_agent_id, last_human_name
      ) names
    ) ranked
    where place = 1`,
  }),
  dim_visitor: queryView({
    note: 'One row for each visitor who exists, with conversations and visits so far.',
    caveat:
      'Deleted visitors are left out, so conversations may lead to a visitor that is not ' +
      'here. Undocumented fields of visitors follow as columns of text, unless the ' +
      'settings leave out personal data.',
    key: {
      project_id: [projectId, 'v.project_id'],
      visitor_id: [kind.key('the visitor, in visitors'), 'v.id'],
    },
    discovers: 'visitors',
    // Each with its table: a discovered column of `visitors` may have any name.
    columns: {
      name: [orNull.text(personalData), 'case when s.personal_data then v.name end'],
      email: [orNull.text(personalData), 'case when s.personal_data then v.email end'],
      has_email: [kind.flag('the visitor has an address'), 'v.email is not null'],
      conversations: [kind.count('conversations'), 'coalesce(c.conversations, 0)'],
      open_conversations: [kind.count('of these, open ones'), 'coalesce(c.open_conversations, 0)'],
      messages_written: [
        kind.count('messages that the visitor wrote'),
        'cast(coalesce(c.messages_written, 0) as bigint)',
      ],
      first_contact_at: [
        orNull.time('when the first conversation was created'),
        'c.first_contact_at',
      ],
      last_utterance_at: [
        orNull.time('when anybody last wrote in one of them'),
        'c.last_utterance_at',
      ],
      last_wrote_at: [orNull.time('when the visitor last wrote'), 'c.last_wrote_at'],
      last_seen_at: [
        orNull.time('the later of last_wrote_at and last_activity_at'),
        `case when c.last_wrote_at >= a.last_activity_at or a.last_activity_at is null
        then c.last_wrote_at else a.last_activity_at end`,
      ],
      visits: [kind.count('visits'), 'coalesce(a.visits, 0)'],
      first_visit_at: [orNull.time('when the first visit began'), 'a.first_visit_at'],
      last_activity_at: [orNull.time('when the last visit ended'), 'a.last_activity_at'],
    },
    from: `visitors v
    left join facts_state s on s.project_id = v.project_id
    left join (
      select project_id, visitor_id,
        count(*) as conversations,
        count(case when is_open then 1 end) as open_conversations,
        sum(visitor_messages) as messages_written,
        min(created_at) as first_contact_at,
        max(last_utterance_at) as last_utterance_at,
        max(last_visitor_at) as last_wrote_at
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
  }),
  dim_visitor_history: {
    note:
      'One row for each version of a visitor: the present one, and those that were replaced while ' +
      'the setting history named visitors.',
    caveat:
      'A version is true from valid_from until before valid_to. Both are readings that first showed ' +
      'a change, which came earlier: after last_read_at of the version before. No version is true ' +
      'while a visitor was deleted, or versions were not kept. Undocumented fields follow as in ' +
      'dim_visitor.',
    key: ['project_id', 'visitor_id', 'valid_from'],
    discovers: 'visitors',
    discoversInRaw: true,
    columns: {
      project_id: projectId,
      visitor_id: kind.key('the visitor, in dim_visitor unless deleted'),
      valid_from: kind.time('when this version was first read'),
      valid_to: orNull.time(
        'when the next version was first read, or the visitor found deleted; null = the present one',
      ),
      last_read_at: kind.time('when the last copy that was stored of it was requested'),
      is_first: kind.flag('no earlier version is known'),
      name: orNull.text(personalData),
      email: orNull.text(personalData),
    },
    select: () => `
    select v.project_id, v.id as visitor_id, v.valid_from, v.valid_to, v.last_read_at,
      not exists (select 1 from visitors_history e where e.project_id = v.project_id
        and e.id = v.id and e.valid_from < v.valid_from) as is_first,
      case when s.personal_data then v.name end as name,
      case when s.personal_data then v.email end as email, v.raw
    from (
      select project_id, id, coalesce(unchanged_since, synced_at) as valid_from,
        deleted_at as valid_to, synced_at as last_read_at, name, email, raw
      from visitors
      union all
      select project_id, id, valid_from, valid_to, synced_at, name, email, raw
      from visitors_history
    ) v
    left join facts_state s on s.project_id = v.project_id`,
  },
  /** The facts of conversations have only what is counted. */
  dim_conversation: queryView({
    note: 'One row for each conversation that exists, with its undocumented fields.',
    caveat:
      'Each undocumented field of conversations is a column of text, which appears when ' +
      'the field does, unless the settings leave out personal data. What is counted is in ' +
      'fct_conversation.',
    key: { project_id: projectId, conversation_id: [kind.key('the conversation'), 'id'] },
    discovers: 'conversations',
    columns: {},
    from: 'conversations where deleted_at is null',
  }),
} satisfies Record<string, AnalyticsView>
