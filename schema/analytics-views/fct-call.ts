/**
 * Calls. The service documents none of their fields, so they are read from `raw` by paths: those of the settings
 * (`call_fields`), or likely names. Discovered columns hold the same, but a view must not depend on one.
 */
import type { AnalyticsView } from './analytics-view.ts'
import { localSeconds, type SqlDialect } from './sql-dialect.ts'
import { date, flag, key, number, optional, projectId, seconds, text, time } from './view-columns.ts'

type CallField = 'visitor' | 'ended' | 'outcome' | 'duration'

/** Tried in this order where the settings name no path. */
const likelyNames: Readonly<Record<CallField, readonly string[]>> = {
  visitor: ['visitorId', 'visitor_id', 'visitor.id'],
  ended: ['endedAt', 'ended_at', 'endTime'],
  outcome: ['outcome', 'status', 'result'],
  duration: ['durationSeconds', 'duration_seconds'],
}

function fieldOf(field: CallField, read: (json: string, path: string) => string): string {
  const guesses = likelyNames[field].map((name) => read('c.raw', `'${name}'`))
  return `case when f.${field} is not null then ${read('c.raw', `f.${field}`)}
          else coalesce(${guesses.join(', ')}) end`
}

const outcomeNote = 'how it ended, in the words of the service; null = not known'

export const fctCall: AnalyticsView = {
  note: 'One row for each call.',
  caveat:
    'The service documents no field of a call: where `analytics.calls` in deskmirror.yaml names none, likely names are tried.',
  key: ['project_id', 'call_id'],
  columns: {
    project_id: projectId,
    call_id: key('the call, in calls'),
    visitor_id: optional(key('the visitor; null = not known')),
    started_at: optional(time('when it started')),
    started_date: optional(date('local day of started_at')),
    started_hour: optional(number('local hour of started_at, 0 to 23')),
    ended_at: optional(time('when it ended; null = not known')),
    outcome: optional(text(outcomeNote)),
    seconds: optional(seconds('how long it took; null = not known, or negative')),
    has_recording: optional(flag('it has a recording; null = the service has not been asked yet')),
  },
  select: (sql) => `
    select p.project_id, p.call_id, p.visitor_id, p.started_at, d.date as started_date,
      cast(p.local_seconds % 86400 / 3600 as integer) as started_hour, p.ended_at, p.outcome,
      case when ${secondsOf(sql)} >= 0 then ${secondsOf(sql)} end as seconds, p.has_recording
    from (${parsedCalls(sql)}
    ) p
    left join dim_date d on d.project_id = p.project_id and d.date = ${sql.dateOf('p.local_seconds')}`,
}

/** Negative if the service shows a negative length, or an end before the beginning. */
const secondsOf = (sql: SqlDialect) => `coalesce(p.seconds, ${sql.epoch('p.ended_at')} - ${sql.epoch('p.started_at')})`

function parsedCalls(sql: SqlDialect): string {
  return `
      select c.project_id, c.id as call_id,
        ${fieldOf('visitor', sql.jsonText)} as visitor_id,
        c.occurred_at as started_at,
        ${localSeconds(sql, 'c.project_id', 'c.occurred_at')} as local_seconds,
        ${fieldOf('ended', sql.jsonTime)} as ended_at,
        ${fieldOf('outcome', sql.jsonText)} as outcome,
        ${fieldOf('duration', sql.jsonInteger)} as seconds,
        r.has_recording
      from calls c
      left join call_fields f on f.project_id = c.project_id
      left join call_recordings r on r.project_id = c.project_id and r.call_id = c.id and r.deleted_at is null
      where c.deleted_at is null`
}
