/** Demand and availability by hour. */

import { type MergedSource, mergeByKey, mergedColumns, queryView } from './by-windows.ts'
import { localSeconds, type SqlDialect } from './sql-dialect.ts'
import { type AnalyticsView, kind, orNull, projectId, weighted } from './view-spec.ts'

/** Often only a part of an hour is observed: its mean number of agents stands for the whole. */
export const observedSecondsOfHour =
  'case when observed_seconds between 1 and 3600 then observed_seconds else 3600 end'

/** Counts the rows of a table by the hour of one of its times. */
function countBy(
  table: string,
  time: string,
  name: string,
  note: string,
  condition = `${time}_date is not null`,
) {
  const key = ['project_id', `${time}_date`, `${time}_hour`]
  const columns = { [name]: [kind.count(note), 'count(*)'] as const }
  return { key, columns, from: `${table} where ${condition} group by ${key.join(', ')}` }
}

const ofHour = (columns: MergedSource['columns']): MergedSource => ({
  key: ['project_id', 'date', 'hour'],
  columns,
  from: 'fct_availability_hour',
})

const sources: readonly MergedSource[] = [
  countBy('fct_conversation', 'created', 'conversations_started', 'conversations created'),
  countBy('fct_wait', 'started', 'waits_started', 'times that a visitor began to wait'),
  countBy('fct_wait', 'human_answered', 'human_answers', 'answers of humans to waiting visitors'),
  countBy(
    'fct_wait',
    'ended',
    'ai_answers',
    'answers of the AI to waiting visitors',
    "ended_by = 'ai'",
  ),
  ofHour({
    observed_seconds: kind.seconds(
      'seconds for which the availability and the number of agents are known',
    ),
  }),
]

/** What the rates are computed from. */
const observed = ofHour({ available_seconds: kind.seconds(''), agent_seconds: kind.seconds('') })

const ratio = (dividend: string, divisor: string) =>
  `cast(${dividend} as double precision) / nullif(${divisor}, 0)`

const role = "case when m.kind = 'utterance' then coalesce(r.role, 'other') else 'event' end"

/** Seconds since midnight show the hour, except on the days on which the clocks change. */
function hourOf(sql: SqlDialect): string {
  const start = sql.epoch('d.starts_at')
  const end = sql.epoch('d.ends_at')
  const at = sql.epoch('m.created_at')
  const changed = `(${localSeconds(sql, 'm.project_id', 'm.created_at')}) % 86400 / 3600`
  return `cast(case when ${end} - ${start} = 86400 then (${at} - ${start}) / 3600 else ${changed}
    end as integer)`
}

/** The days that have begun since a project's first conversation. */
const daysSinceFirst = (sql: SqlDialect) => `(
        select d.project_id, d.date, d.weekday
        from dim_date d
        join (select project_id, min(created_date) as first_date from fct_conversation
        group by project_id) f
          on f.project_id = d.project_id and d.date >= f.first_date
        where d.starts_at <= ${sql.now}
      )`

/** Waits, answers and availability of each hour; the arguments are more conditions on each. */
export const eventsByHour = (waits = '', answers = '', availability = '') => `(
      select project_id, started_date as date, started_hour as hour, count(*) as waits_started,
        0 as human_answers, 0 as observed_seconds, 0 as available_seconds, 0 as agent_seconds
      from fct_wait
      where started_date is not null ${waits}
      group by project_id, started_date, started_hour
      union all
      select project_id, human_answered_date, human_answered_hour, 0, count(*), 0, 0, 0
      from fct_wait
      where human_answered_date is not null ${answers}
      group by project_id, human_answered_date, human_answered_hour
      union all
      select project_id, date, hour, 0, 0, observed_seconds, available_seconds, agent_seconds
      from fct_availability_hour
      where date is not null ${availability}
    )`

export const hourViews = {
  report_hour: queryView({
    note: 'Demand and availability in each local hour in which anything was counted or observed.',
    caveat:
      'Availability is known only since the mirror began, and says how many agents were online, ' +
      'not who and not what they did. An hour that the clock shows twice is one row.',
    key: {
      project_id: [projectId, 'e.project_id'],
      date: [kind.date('the local day'), 'e.date'],
      hour: [kind.number('the local hour, 0 to 23'), 'cast(e.hour as integer)'],
    },
    columns: {
      weekday: orNull.number('1 = Monday to 7 = Sunday'),
      ...mergedColumns(sources),
      available_share: [
        weighted(
          orNull.share('of these, the share in which an agent was available; null = not observed'),
          'observed_seconds',
        ),
        ratio('e.available_seconds', 'e.observed_seconds'),
      ],
      agents_online: [
        weighted(
          orNull.mean('mean number of agents online; null = not observed'),
          'observed_seconds',
        ),
        ratio('e.agent_seconds', 'e.observed_seconds'),
      ],
      human_answers_per_agent_hour: [
        orNull.mean(
          'human_answers / agents_online: a substitute for occupancy, which cannot be ' +
            'computed; null = no agent was seen',
        ),
        ratio(`e.human_answers * (${observedSecondsOfHour})`, 'e.agent_seconds'),
      ],
    },
    from: `(${mergeByKey(['project_id', 'date', 'hour'], [...sources, observed])}
    ) e
    left join dim_date d on d.project_id = e.project_id and d.date = e.date`,
  }),
  report_week_hour: queryView({
    note:
      'A typical week: the mean of each hour of each weekday, from the ' +
      'first conversation until today.',
    caveat: 'Over the whole history. For another period, group report_hour by weekday and hour.',
    key: {
      project_id: [projectId, 'w.project_id'],
      weekday: [kind.number('1 = Monday to 7 = Sunday'), 'w.weekday'],
      hour: [
        kind.number('the local hour, 0 to 23: each, also one in which nothing happened'),
        'h.hour',
      ],
    },
    columns: {
      hours: [kind.count('days of that weekday, those without any event included'), 'w.days'],
      waits_started: [
        weighted(kind.mean('visitors who began to wait, in the mean of these days'), 'hours'),
        'cast(coalesce(e.waits_started, 0) as double precision) / w.days',
      ],
      human_answers: [
        weighted(kind.mean('answers of humans, in the mean of these days'), 'hours'),
        'cast(coalesce(e.human_answers, 0) as double precision) / w.days',
      ],
      agents_online: [
        orNull.mean('mean number of agents online while it was observed'),
        ratio('e.agent_seconds', 'e.observed_seconds'),
      ],
      available_share: [
        orNull.share('share of the observed time in which an agent was available'),
        ratio('e.available_seconds', 'e.observed_seconds'),
      ],
    },
    from: (sql) => `(
      select project_id, weekday, count(*) as days
      from ${daysSinceFirst(sql)} d
      group by project_id, weekday
    ) w
    cross join dim_hour h
    left join (
      select n.project_id, d.weekday, n.hour, sum(n.waits_started) as waits_started,
        sum(n.human_answers) as human_answers, sum(n.observed_seconds) as observed_seconds,
        sum(n.available_seconds) as available_seconds, sum(n.agent_seconds) as agent_seconds
      from ${eventsByHour()} n
      join ${daysSinceFirst(sql)} d on d.project_id = n.project_id and d.date = n.date
      group by n.project_id, d.weekday, n.hour
    ) e on e.project_id = w.project_id and e.weekday = w.weekday and e.hour = h.hour`,
  }),
  report_message_hour: queryView({
    note: 'Messages by the local hour in which they were written and by role.',
    caveat:
      'Filter by date: it reads the messages themselves. Messages without a time are left ' +
      'out; report_quality counts them.',
    key: {
      project_id: [projectId, 'd.project_id'],
      date: [kind.date('the local day'), 'd.date'],
      hour: [
        kind.number('the local hour, 0 to 23; an hour that the clock shows twice is one row'),
        hourOf,
      ],
      role: [
        kind.text(
          'visitor, human, ai, other (a sender whose role is unknown) ' +
            'or event (not written by anybody)',
        ),
        role,
      ],
    },
    columns: { messages: [kind.count('messages'), 'count(*)'] },
    from: (sql) => `dim_date d
    join messages m on m.project_id = d.project_id
      and m.created_at >= ${sql.asMirroredTime('d.starts_at')}
      and m.created_at < ${sql.asMirroredTime('d.ends_at')}
    left join dim_sender_type r on r.project_id = m.project_id and r.sender_type = m.sender_type
    where m.deleted_at is null
    group by d.project_id, d.date, ${hourOf(sql)}, ${role}`,
  }),
} satisfies Record<string, AnalyticsView>
