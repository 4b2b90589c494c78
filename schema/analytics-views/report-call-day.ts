/** Calls by day. */
import type { AnalyticsView } from './analytics-view.ts'
import { mergeByKey } from './merge-by-key.ts'
import { percentilesOf } from './percentiles.ts'
import { count, date, duration, meanSeconds, optional, projectId, seconds } from './view-columns.ts'

const measures = {
  calls: count('calls'),
  callers: count('different visitors, as far as they are known; must not be added up over days'),
  with_recording: count('calls with a recording'),
  with_length: count('calls whose length is known'),
  seconds: seconds('total length of these'),
  median_seconds: optional(meanSeconds('median length of these')),
  longest_seconds: optional(duration('length of the longest')),
}

export const reportCallDay: AnalyticsView = {
  note: 'Calls by the day on which they started.',
  caveat: 'Lengths are known only where the calls show them: compare with_length with calls.',
  key: ['project_id', 'date'],
  columns: { project_id: projectId, date: date('the day on which the calls started'), ...measures },
  select: () =>
    mergeByKey({
      key: ['project_id', 'date'],
      columns: measures,
      sources: [
        {
          key: ['project_id', 'started_date'],
          columns: {
            calls: 'count(*)',
            callers: 'count(distinct visitor_id)',
            with_recording: 'count(case when has_recording then 1 end)',
            with_length: 'count(seconds)',
            seconds: 'sum(seconds)',
            longest_seconds: 'max(seconds)',
          },
          from: 'fct_call where started_date is not null group by project_id, started_date',
        },
        {
          key: ['project_id', 'date'],
          columns: { median_seconds: 'median_value' },
          from: `(${percentilesOf({
            groups: { project_id: 'project_id', date: 'started_date' },
            value: 'seconds',
            from: 'fct_call where seconds is not null and started_date is not null',
          })}) lengths`,
        },
      ],
    }),
}
