/** How often each target of the settings was met, by the day on which the visitor asked. */
import type { AnalyticsView } from './analytics-view.ts'
import { completeWaits } from './complete-waits.ts'
import { count, date, duration, key, optional, projectId, share } from './view-columns.ts'

export const reportSlaDay: AnalyticsView = {
  note: 'How many waits met each target, by the day on which the visitor asked. waits = met + missed + open + without.',
  caveat:
    'A wait is judged by the target that applied when it began, so that changing a target leaves the past as it was. met_share leaves out waits that are open or ended without an answer. On the human clock, each human answer counts once, for the first wait that it ends; waits that the AI answered in between count as without.',
  key: ['project_id', 'date', 'sla'],
  columns: {
    project_id: projectId,
    date: date('the day on which the visitors asked'),
    sla: key('name of the target, in dim_sla'),
    target_seconds: duration('the answer should have taken this long at most'),
    waits: count('waits of complete conversations that the target applies to'),
    met: count('answered in time'),
    missed: count('answered too late'),
    open: count('not answered yet'),
    without: count('ended without the answer that the target asks for'),
    met_share: optional(share('met / (met + missed); null = nothing was answered')),
  },
  select: () => `
    select project_id, date, name as sla,
      max(target_seconds) as target_seconds,
      count(*) as waits,
      count(case when waited <= target_seconds then 1 end) as met,
      count(case when waited > target_seconds then 1 end) as missed,
      count(case when waited is null and ended_by = 'nobody' then 1 end) as open,
      count(case when waited is null and ended_by <> 'nobody' then 1 end) as without,
      cast(count(case when waited <= target_seconds then 1 end) as double precision) / nullif(count(waited), 0)
        as met_share
    from (
      select w.project_id, w.started_date as date, t.name, t.target_seconds, w.ended_by,
        case
          when t.clock = 'any' and t.in_business then w.answer_business_seconds
          when t.clock = 'any' then w.answer_seconds
          when t.in_business then w.human_business_seconds
          else w.human_seconds
        end as waited
      from ${completeWaits}
      join dim_sla t on t.project_id = w.project_id
        and w.started_date >= t.from_date and (t.to_date is null or w.started_date < t.to_date)
        and (t.which = 'every' or w.wait_number = 1)
    ) judged
    group by project_id, date, name`,
}
