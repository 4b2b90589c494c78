/** Messages by the hour in which they were written, and by who wrote them. */
import type { AnalyticsView } from './analytics-view.ts'
import type { SqlDialect } from './sql-dialect.ts'
import { localSeconds } from './sql-dialect.ts'
import { count, date, number, projectId, text } from './view-columns.ts'

export const reportMessageHour: AnalyticsView = {
  note: 'Messages by the local hour in which they were written and by role.',
  caveat:
    'Filter by date: it reads the messages themselves. Messages without a time are left out; report_quality counts them.',
  key: ['project_id', 'date', 'hour', 'role'],
  columns: {
    project_id: projectId,
    date: date('the local day'),
    hour: number('the local hour, 0 to 23; an hour that the clock shows twice is one row'),
    role: text('visitor, human, ai, other (a sender whose role is unknown) or event (not written by anybody)'),
    messages: count('messages'),
  },
  select: (sql) => `
    select d.project_id, d.date, ${hourOf(sql)} as hour, ${role} as role, count(*) as messages
    from dim_date d
    join messages m on m.project_id = d.project_id
      and m.created_at >= ${sql.asMirroredTime('d.starts_at')} and m.created_at < ${sql.asMirroredTime('d.ends_at')}
    left join dim_sender_type r on r.project_id = m.project_id and r.sender_type = m.sender_type
    where m.deleted_at is null
    group by d.project_id, d.date, ${hourOf(sql)}, ${role}`,
}

const role = "case when m.kind = 'utterance' then coalesce(r.role, 'other') else 'event' end"

/** Seconds since midnight show the hour, except on the days on which the clocks change. */
function hourOf(sql: SqlDialect): string {
  const [start, end, at] = [sql.epoch('d.starts_at'), sql.epoch('d.ends_at'), sql.epoch('m.created_at')]
  const changed = `(${localSeconds(sql, 'm.project_id', 'm.created_at')}) % 86400 / 3600`
  return `cast(case when ${end} - ${start} = 86400 then (${at} - ${start}) / 3600 else ${changed} end as integer)`
}
