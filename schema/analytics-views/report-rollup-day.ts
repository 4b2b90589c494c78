/** The service's own numbers beside ours. */
import type { AnalyticsView } from './analytics-view.ts'
import { count, date, key, mean, optional, projectId, text, time } from './view-columns.ts'

export const reportRollupDay: AnalyticsView = {
  note: 'Each number of the daily rollups beside our own count, by the definition that was learned for it.',
  caveat:
    'A number whose definition is not known has no count of ours. A day that is not final may still change on either side.',
  key: ['project_id', 'date', 'metric'],
  columns: {
    project_id: projectId,
    date: date('the local day'),
    metric: key('dotted path of the number within the rollup'),
    service_value: mean("the service's number"),
    own_value: optional(mean('our own count; null = its definition is not known')),
    difference: optional(mean('service_value - own_value')),
    result: text('equal, different, not final or not compared'),
    verdict: optional(text('how sure the definition is: proven, likely or unknown')),
    definition: optional(text('what the number counts')),
    days: optional({ ...count('days compared'), type: 'int32', aggregation: 'none' }),
    days_equal: optional({ ...count('of these, days on which both are equal'), type: 'int32', aggregation: 'none' }),
    compared_at: time('when they were compared'),
  },
  select: () => `
    select c.project_id, c.date, c.metric, c.service_value,
      case when d.definition is not null then c.own_value end as own_value,
      case when d.definition is not null then c.service_value - c.own_value end as difference,
      case
        when d.definition is null or c.own_value is null then 'not compared'
        when not c.is_final then 'not final'
        when c.own_value = c.service_value then 'equal'
        else 'different'
      end as result,
      d.verdict, d.definition, d.days, d.days_equal, c.compared_at
    from rollup_comparisons c
    left join rollup_definitions d on d.project_id = c.project_id and d.metric = c.metric`,
}
