/** What is open and waits at the end of each day and hour: running sums over all changes. */

import type { SqlDialect } from './sql-dialect.ts'
import { type AnalyticsView, kind, projectId } from './view-spec.ts'

const caveat =
  'Before the mirror began, reopenings are not known, so earlier numbers are too small: ' +
  'see reopens_known. Conversations without a time of creation are in none of them.'

const measures = {
  opened: kind.count('conversations created'),
  reopenings: kind.count('times that a handled conversation was reopened, as far as this was seen'),
  handlings: kind.count('times that an open conversation was marked handled'),
  open_at_end: kind.level(
    'conversations open at the end: the number before + opened + reopenings - handlings',
  ),
  waiting_at_end: kind.level('of these, those whose visitor was waiting'),
  reopens_known: kind.flag('the mirror had begun, so reopenings are known'),
}

/**
 * Changes before the first day of the calendar, which leaves out single wrong times, such as 1970.
 * The first date is a column: SQLite would compare a minimum otherwise, without an index.
 * `distinct` keeps SQLite from looking for it for each conversation.
 */
function beforeTheCalendar(parts: readonly ('date' | 'hour')[]): string {
  const first = parts.map((part) => (part === 'date' ? 'first_date' : '0')).join(', ')
  return `
        select project_id, ${first}, 0, 0, 0, waiting, open
        from (
          select e.project_id, e.first_date,
            sum((
              select coalesce(sum(case when t.state = 'open' then 1 else -1 end), 0)
              from fct_state t
              where t.project_id = e.project_id and t.conversation_id = e.conversation_id
              and t.from_date < e.first_date
            )) as open,
            sum((
              select count(*) from fct_wait w
              where w.project_id = e.project_id and w.conversation_id = e.conversation_id
                and w.open_from_date < e.first_date and (w.ended_date is null
                or w.ended_date >= e.first_date)
            )) as waiting
          from (
            select y.project_id, y.conversation_id, f.first_date
            from fct_conversation y
            join (
              select distinct d.project_id, d.date as first_date, d.starts_at
              from dim_date d
              where d.date = (select min(x.date) from dim_date x where x.project_id = d.project_id)
            ) f on f.project_id = y.project_id
            where y.created_at < f.starts_at or y.first_visitor_at < f.starts_at
            or y.first_handled_at < f.starts_at
          ) e
          group by e.project_id, e.first_date
        ) earlier`
}

/**
 * `net_waits`: of open conversations, those that began less those that ended. Most end in their
 * period and change nothing, so they are left out before anything is grouped.
 */
function changesBy(...parts: readonly ('date' | 'hour')[]): string {
  const outlasts = parts.map((part) => `ended_${part} <> open_from_${part}`).join(' or ')
  const list = (prefix: string) => parts.map((part) => `${prefix}_${part}`).join(', ')
  const named = parts.map((part) => `from_${part} as ${part}`).join(', ')
  return `
      select project_id, ${parts.join(', ')}, sum(opened) as opened, sum(reopenings) as reopenings,
        sum(handlings) as handlings, sum(net_waits) as net_waits, sum(open_before) as open_before
      from (
        select project_id, ${named},
          count(case when state_number = 1 then 1 end) as opened,
          count(case when state = 'open' and state_number > 1 then 1 end) as reopenings,
          count(case when state = 'handled' then 1 end) as handlings,
          0 as net_waits, 0 as open_before
        from fct_state
        group by project_id, ${list('from')}
        union all
        select project_id, ${list('open_from')}, 0, 0, 0, count(*), 0
        from fct_wait
        where open_from_date is not null and (ended_date is null or ${outlasts})
        group by project_id, ${list('open_from')}
        union all
        select project_id, ${list('ended')}, 0, 0, 0, -count(*), 0
        from fct_wait
        where ${outlasts}
        group by project_id, ${list('ended')}
        union all${beforeTheCalendar(parts)}
      ) changes
      group by project_id, ${parts.join(', ')}`
}

/** From the periods `p`, their changes `c` and the state `s` of the project. */
function measuresBy(periods: string, ...parts: readonly ('date' | 'hour')[]): string {
  const order = parts.map((part) => `p.${part}`).join(', ')
  const total = (change: string) =>
    `cast(sum(${change}) over (partition by p.project_id order by ${order}) as bigint)`
  const sumOf = (...columns: string[]) =>
    columns.map((column) => `coalesce(c.${column}, 0)`).join(' + ')
  return `
    select p.project_id, ${order},
      cast(coalesce(c.opened, 0) as bigint) as opened,
      cast(coalesce(c.reopenings, 0) as bigint) as reopenings,
      cast(coalesce(c.handlings, 0) as bigint) as handlings,
      ${total(`${sumOf('open_before', 'opened', 'reopenings')} - coalesce(c.handlings, 0)`)}
      as open_at_end,
      ${total(sumOf('net_waits'))} as waiting_at_end,
      p.starts_at >= s.mirrored_since as reopens_known
    from (${periods}
    ) p
    join facts_state s on s.project_id = p.project_id
    left join (${changesBy(...parts)}
    ) c on c.project_id = p.project_id${parts.map((part) => ` and c.${part} = p.${part}`).join('')}`
}

export const backlogViews = {
  report_backlog_day: {
    note:
      'The backlog at the end of each day since the first conversation, and what changed it. ' +
      'The last row is today so far.',
    caveat,
    key: ['project_id', 'date'],
    columns: { project_id: projectId, date: kind.date('the local day'), ...measures },
    select: (sql) =>
      measuresBy(`select d.project_id, d.date, d.starts_at from ${daysSoFar(sql)}`, 'date'),
  },
  report_backlog_hour: {
    note:
      'The backlog at the end of each hour, and what changed it: from the first hour of the ' +
      'day of the first conversation to the present hour so far.',
    caveat:
      `${caveat} An hour that the clock shows twice is one row; an hour ` +
      'that it skips has none.',
    key: ['project_id', 'date', 'hour'],
    columns: {
      project_id: projectId,
      date: kind.date('the local day'),
      hour: kind.number('the local hour, 0 to 23'),
      ...measures,
    },
    select: (sql) => measuresBy(hoursOfDays(sql), 'date', 'hour'),
  },
} satisfies Record<string, AnalyticsView>

/** The days `d` from a project's first conversation until today. */
function daysSoFar(sql: SqlDialect): string {
  return `dim_date d
      join (
        select project_id, min(created_at) as created_at, min(first_visitor_at) as first_visitor_at,
          min(first_handled_at) as first_handled_at
        from fct_conversation
        group by project_id
      ) f on f.project_id = d.project_id
        and (d.ends_at > f.created_at or d.ends_at > f.first_visitor_at
        or d.ends_at > f.first_handled_at)
        and d.starts_at <= ${sql.now}`
}

/**
 * Every local hour that has begun: on most days the n-th is n, else the offset decides. With
 * `union` Postgres knows how many there are, and finds the first conversation once.
 */
function hoursOfDays(sql: SqlDialect): string {
  const hourStart = `${sql.epoch('d.starts_at')} + 3600 * n.hour`
  const offset = `
          select z.offset_s from zone_offsets z
          where z.project_id = d.project_id and z.from_s <= ${hourStart}
          order by z.from_s desc limit 1`
  return `
      select distinct d.project_id, d.date, d.starts_at,
        cast(case when ${sql.epoch('d.ends_at')} - ${sql.epoch('d.starts_at')} = 86400 then n.hour
          else (${hourStart} + (${offset})) % 86400 / 3600 end as integer) as hour
      from ${daysSoFar(sql)}
      join (select hour from dim_hour union select 24) n
        on ${hourStart} < ${sql.epoch('d.ends_at')} and ${hourStart} <= ${sql.epoch(sql.now)}`
}
