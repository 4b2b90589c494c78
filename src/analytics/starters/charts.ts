/** The eight charts of the starter dashboards: one page for a support lead. */

import { percentilesOf } from '../views/by-windows.ts'
import type { SqlDialect } from '../views/sql-dialect.ts'
import { completeWaits } from '../views/waits.ts'

export type ChartColumn = {
  /**
   * `day`: a date of the project, on the x-axis. `category`: another label there. `series`: names
   * the line of a row. `mean`: a number with a fraction.
   */
  readonly kind: 'day' | 'category' | 'series' | 'text' | 'count' | 'mean' | 'seconds' | 'share'
  readonly title: string
  readonly isNullable?: true
}

/** Conditions in the terms of a tool, for a column of the project and for one of a local date. */
export type ChartFilters = {
  readonly project: (column: string) => string
  readonly days: (column: string) => string
}

export type StarterChart = {
  readonly title: string
  /** Shown beside the chart: what it means, and what it does not. */
  readonly meaning: string
  readonly visualisation: 'table' | 'line' | 'bar'
  /** In the order of the query. A line or bar chart begins with its x-axis. */
  readonly columns: Readonly<Record<string, ChartColumn>>
  /** The query for one project, ordered. */
  readonly select: (sql: SqlDialect, filters: ChartFilters) => string
}

/** The chosen days from the first conversation until today. */
const daysByWeekday = (sql: SqlDialect, { project, days }: ChartFilters) => `
  select weekday, count(*) as days
  from dim_date
  where ${project('project_id')} and ${days('date')} and starts_at <= ${sql.now}
    and date >= (select min(created_date) from fct_conversation where ${project('project_id')})
  group by weekday`

const eventsByHour = ({ project, days }: ChartFilters) => `
  select weekday, hour,
    cast(sum(waits_started) as double precision) as waits_started,
    cast(sum(human_answers) as double precision) as human_answers,
    sum(agents_online * observed_seconds) / nullif(sum(observed_seconds), 0) as agents_online
  from report_hour
  where ${project('project_id')} and ${days('date')}
  group by weekday, hour`

/** Over the days as a whole: medians of days cannot be combined. */
const answersOfAgents = ({ project, days }: ChartFilters) =>
  percentilesOf({
    groups: { agent_name: 'w.human_name' },
    value: 'w.human_seconds',
    from: `${completeWaits}
        where w.human_seconds is not null and ${project('w.project_id')}
        and ${days('w.human_answered_date')}`,
  })

const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'].map(
  (name, n) => `when ${n + 1} then '${name}'`,
)

const columnOf =
  (kind: ChartColumn['kind']) =>
  (title: string, nullable: Pick<ChartColumn, 'isNullable'> = {}): ChartColumn => ({
    kind,
    title,
    ...nullable,
  })
const orNull = { isNullable: true } as const
const day = columnOf('day')
const category = columnOf('category')
const series = columnOf('series')
const text = columnOf('text')
const count = columnOf('count')
const mean = columnOf('mean')
const seconds = columnOf('seconds')
const share = columnOf('share')

/** By the names that the tools know them by: a chart keeps its name. */
export const charts = {
  waiting_now: {
    title: 'Waiting now',
    meaning:
      'Open conversations whose visitor wrote last, the longest wait first, 50 at the ' +
      'most. As of the last sync; the days of the dashboard play no part.',
    visualisation: 'table',
    columns: {
      visitor_name: text('Visitor', orNull),
      waiting_seconds: seconds('Waiting'),
      human_messages: count('Answers of humans so far'),
      assigned_agent_id: text('Assigned to', orNull),
      conversation_id: text('Conversation'),
    },
    select: (_, { project }) => `
select visitor_name, waiting_seconds, human_messages, assigned_agent_id, conversation_id
from report_open
where waiting_since is not null and ${project('project_id')}
order by waiting_seconds desc, conversation_id
limit 50`,
  },
  backlog_by_day: {
    title: 'Backlog and waiting visitors by day',
    meaning:
      'Conversations open, and visitors without an answer, at the end of each day. Before the ' +
      'mirror began, reopenings are not known. States of several days must not be added up.',
    visualisation: 'line',
    columns: { date: day('Day'), open_at_end: count('Open'), waiting_at_end: count('Waiting') },
    select: (_, { project, days }) => `
select date, open_at_end, waiting_at_end
from report_backlog_day
where ${project('project_id')} and ${days('date')}
order by date`,
  },
  answers_by_week: {
    title: 'Answers of humans by week, in business hours',
    meaning:
      'How long visitors waited for a human: half of them this long at most (median), and ' +
      'nine tenths (p90). By the week in which they asked. The newest week still changes; ' +
      'medians must not be averaged.',
    visualisation: 'line',
    columns: { week: day('Week'), median_seconds: seconds('Median'), p90_seconds: seconds('p90') },
    select: (_, { project, days }) => `
select week, median_seconds, p90_seconds
from report_answer_week
where clock = 'human' and hours = 'business' and ${project('project_id')} and ${days('week')}
order by week`,
  },
  targets_by_week: {
    title: 'Targets met by week',
    meaning:
      'Of the answers that each target of deskmirror.yaml applies to, the share that came ' +
      'in time. Open waits, and those that ended without an answer, ' +
      'are left out. Empty without targets.',
    visualisation: 'line',
    columns: { week: day('Week'), sla: series('Target'), met_share: share('Met') },
    select: (_, { project, days }) => `
select d.week, s.sla, cast(sum(s.met) as double precision) / sum(s.met + s.missed) as met_share
from report_sla_day s
join dim_date d on d.project_id = s.project_id and d.date = s.date
where ${project('s.project_id')} and ${days('s.date')}
group by d.week, s.sla
having sum(s.met + s.missed) > 0
order by d.week, s.sla`,
  },
  load_by_hour: {
    title: 'Load and coverage by weekday and hour',
    meaning:
      'In the mean of the chosen days: visitors who began to wait, answers of humans, and agents ' +
      'online. Nobody online is 0, and no value means that the availability was not observed.',
    visualisation: 'bar',
    columns: {
      hour_of_week: category('Hour'),
      waits_started: mean('Began to wait'),
      human_answers: mean('Answers of humans'),
      agents_online: mean('Agents online', orNull),
    },
    select: (sql, filters) => `
select case w.weekday ${weekdays.join(' ')} end || ' ' || h.label as hour_of_week,
  coalesce(e.waits_started, 0) / w.days as waits_started,
  coalesce(e.human_answers, 0) / w.days as human_answers,
  e.agents_online
from (${daysByWeekday(sql, filters)}
) w
cross join dim_hour h
left join (${eventsByHour(filters)}
) e on e.weekday = w.weekday and e.hour = h.hour
order by w.weekday, h.hour`,
  },
  agents: {
    title: 'Agents',
    meaning:
      'Messages and answers by the name that visitors saw, and how long the answered ' +
      'visitors had waited for a human, at night too. It is not a measure of effort: ' +
      'whoever takes hard questions or night hours looks slow.',
    visualisation: 'table',
    columns: {
      agent_name: text('Agent'),
      messages: count('Messages'),
      answers: count('Answers'),
      median_seconds: seconds('Median wait', orNull),
      p90_seconds: seconds('p90 of waits', orNull),
    },
    select: (_, filters) => `
select m.agent_name, m.messages, coalesce(a.values_counted, 0) as answers, a.median_value
as median_seconds,
  a.p90_value as p90_seconds
from (
  select name as agent_name, cast(sum(messages) as bigint) as messages
  from fct_contribution
  where role = 'human' and ${filters.project('project_id')} and ${filters.days('date')}
  group by name
) m
left join (${answersOfAgents(filters)}
) a on a.agent_name = m.agent_name
order by answers desc, m.agent_name`,
  },
  ai_by_month: {
    title: 'AI only and handed over, by month',
    meaning:
      'Conversations by the month of their creation: those in which the AI wrote and no human, ' +
      'those in which both wrote, and the rest. AI only does not say that the visitor was helped.',
    visualisation: 'bar',
    columns: {
      month: day('Month'),
      ai_only: count('AI only'),
      handed_over: count('Handed over'),
      without_ai: count('Without the AI'),
    },
    select: (_, { project, days }) => `
select month, ai_only, handed_over, conversations - with_ai as without_ai
from report_ai_month
where ${project('project_id')}
  and month in (select month from dim_date where ${project('project_id')} and ${days('date')})
order by month`,
  },
  freshness_and_quality: {
    title: 'Freshness and quality',
    meaning:
      'How long ago each stream was last read to its end, and what the numbers leave out ' +
      'or cannot know, over the whole history.',
    visualisation: 'table',
    columns: {
      what: text('What'),
      seconds_ago: seconds('Read to its end before', orNull),
      rows_affected: count('Gaps, or rows affected'),
      meaning: text('Note', orNull),
    },
    select: (_, { project }) => `
select what, seconds_ago, rows_affected, meaning
from (
  select 1 as part, 'stream ' || stream as what, seconds_ago, open_gaps as rows_affected,
    coalesce(failed, skipped) as meaning
  from report_freshness
  where ${project('project_id')}
  union all
  select 2, what, null, rows_wrong, meaning
  from report_quality
  where rows_wrong > 0 and ${project('project_id')}
) parts
order by part, what`,
  },
} satisfies Record<string, StarterChart>
