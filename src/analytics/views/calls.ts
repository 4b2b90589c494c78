/** Calls, one by one and by day. */

import { likelyCallFields } from '../../../schema/mirror-tables.ts'
import {
  countIf,
  type MergedSource,
  median,
  mergedView,
  percentileSource,
  queryView,
} from './by-windows.ts'
import { localSeconds, type SqlDialect } from './sql-dialect.ts'
import { type AnalyticsView, kind, orNull, projectId } from './view-spec.ts'

/**
 * The fields of calls are not documented, so they are read from `raw` by the paths of the settings
 * (`call_fields`), or by likely names. A view must not depend on a discovered column.
 */
function fieldOf(
  field: keyof typeof likelyCallFields,
  read: (json: string, path: string) => string,
): string {
  const guesses = likelyCallFields[field].map((name) => read('c.raw', `'${name}'`))
  return `case when f.${field} is not null then ${read('c.raw', `f.${field}`)}
          else coalesce(${guesses.join(', ')}) end`
}

/** Of the call `c`, with its fields `f`. */
export const visitorOfCall = (sql: SqlDialect) => fieldOf('visitor', sql.jsonText)

const parsedCalls = (sql: SqlDialect) => `
      select c.project_id, c.id as call_id,
        ${visitorOfCall(sql)} as visitor_id,
        c.occurred_at as started_at,
        ${localSeconds(sql, 'c.project_id', 'c.occurred_at')} as local_seconds,
        ${fieldOf('ended', sql.jsonTime)} as ended_at,
        ${fieldOf('outcome', sql.jsonText)} as outcome,
        ${fieldOf('duration', sql.jsonInteger)} as seconds,
        r.has_recording,
        ${fieldOf('direction', sql.jsonText)} as direction,
        ${fieldOf('agent', sql.jsonText)} as agent
      from calls c
      left join call_fields f on f.project_id = c.project_id
      left join call_recordings r on r.project_id = c.project_id and r.call_id = c.id
      and r.deleted_at is null
      where c.deleted_at is null`

/** Negative if the service shows a negative length, or an end before the beginning. */
const secondsOf = (sql: SqlDialect) =>
  `coalesce(p.seconds, ${sql.epoch('p.ended_at')} - ${sql.epoch('p.started_at')})`

const medianLength = median('median length of these')

/** `keys`: grouped by, beside the project. `and`: more conditions. */
export const callSources = (keys: Readonly<Record<string, string>>, and = ''): MergedSource[] => {
  const key = ['project_id', ...Object.values(keys)]
  const from = `fct_call where started_date is not null ${and}`
  const counted = {
    key,
    columns: {
      calls: [kind.count('calls'), 'count(*)'],
      callers: [
        kind.distinct('different visitors, as far as they are known'),
        'count(distinct visitor_id)',
      ],
      with_recording: countIf('calls with a recording', 'has_recording'),
      with_length: [kind.count('calls whose length is known'), 'count(seconds)'],
      seconds: [kind.seconds('total length of these'), 'sum(seconds)'],
      // Its place in the view; the next query has its value.
      median_seconds: [medianLength[0], 'null'],
      longest_seconds: [orNull.duration('length of the longest'), 'max(seconds)'],
    },
    from: `${from} group by ${key.join(', ')}`,
  } as const
  const groups = { project_id: 'project_id', ...keys }
  const columns = { median_seconds: medianLength }
  return [
    counted,
    percentileSource({
      groups,
      value: 'seconds',
      from: `${from} and seconds is not null`,
      columns,
    }),
  ]
}

export const callViews = {
  fct_call: queryView({
    note: 'One row for each call.',
    caveat:
      'The service documents no field of a call: where `analytics.calls` in ' +
      'deskmirror.yaml names none, likely names are tried. All of them follow as columns ' +
      'of text, unless the settings leave out personal data.',
    key: {
      project_id: [projectId, 'p.project_id'],
      call_id: [kind.key('the call, in calls'), 'p.call_id'],
    },
    discovers: 'calls',
    columns: {
      visitor_id: [orNull.key('the visitor; null = not known'), 'p.visitor_id'],
      started_at: [orNull.time('when it started'), 'p.started_at'],
      started_date: [orNull.date('local day of started_at'), 'd.date'],
      started_hour: [
        orNull.number('local hour of started_at, 0 to 23'),
        'case when d.date is not null then cast(p.local_seconds % 86400 / 3600 as integer) end',
      ],
      ended_at: [orNull.time('when it ended; null = not known'), 'p.ended_at'],
      outcome: [
        orNull.text('how it ended, in the words of the service; null = not known'),
        'p.outcome',
      ],
      seconds: [
        orNull.seconds('how long it took; null = not known, or negative'),
        (sql) => `case when ${secondsOf(sql)} >= 0 then ${secondsOf(sql)} end`,
      ],
      has_recording: orNull.flag('it has a recording; null = the service has not been asked yet'),
      direction: orNull.text('who called whom, in the words of the service; null = not known'),
      agent: orNull.text('the agent, as the service names it; null = not known'),
    },
    from: (sql) => `(${parsedCalls(sql)}
    ) p
    left join dim_date d on d.project_id = p.project_id and d.date =
    ${sql.dateOf('p.local_seconds')}`,
  }),
  report_call_day: mergedView({
    note: 'Calls by the day on which they started.',
    caveat: 'Lengths are known only where the calls show them: compare with_length with calls.',
    key: { project_id: projectId, date: kind.date('the day on which the calls started') },
    sources: callSources({ date: 'started_date' }),
  }),
} satisfies Record<string, AnalyticsView>
