/** The numbers of the service's daily rollups beside every daily number of our own views, and which of ours fits each best. */
import { agentViews } from './agents.ts'
import { backlogViews } from './backlog.ts'
import { queryView } from './by-windows.ts'
import { callViews } from './calls.ts'
import { conversationViews } from './conversations.ts'
import { durationViews } from './durations.ts'
import type { SqlDialect } from './sql-dialect.ts'
import { type AnalyticsView, kind, orNull, projectId, type ViewColumn } from './view-spec.ts'
import { visitorViews } from './visitors.ts'
import { waitViews } from './waits.ts'

const views = {
  ...{ ...conversationViews, ...waitViews, ...durationViews, ...backlogViews },
  ...{ ...callViews, ...visitorViews, ...agentViews },
}

/** Views with one row a day, or one for each clock of response times: the service does not know our business hours. */
const sources: readonly { readonly name: keyof typeof views; readonly clock?: string }[] = [
  { name: 'report_conversation_day' },
  { name: 'report_wait_day' },
  { name: 'report_answer_day', clock: 'any' },
  { name: 'report_answer_day', clock: 'human' },
  { name: 'report_backlog_day' },
  { name: 'report_call_day' },
  { name: 'report_visitor_day' },
  { name: 'report_contact_day' },
  { name: 'report_workload_day' },
]

/** A filter by the present time, which both databases hand down into the views; one by the newest rollup they do not. */
const days = 60
const firstDay = (sql: SqlDialect) => sql.dateOf(`${sql.epoch(sql.now)} - ${days * 86_400}`)

/** Fewer days can be equal by accident, and so can any number of days without anything to count. */
const enough = { days: 7, equalShare: 0.95 }
/** Calls and messages of a day's last minutes come a little later, here or in the rollup. */
const lateSeconds = 3600

/** `definition`: the view, the column and the clock. */
const ownNumbers = sources.flatMap(({ name, clock }, source) =>
  Object.entries<ViewColumn>(views[name].columns)
    .filter(([, { role }]) => role === 'measure')
    .map(([column]) => ({
      definition: `${name}.${column}${clock === undefined ? '' : ` (${clock})`}`,
      value: `v${source}.${column}`,
    })),
)

const joinSource = (sql: SqlDialect, { name, clock }: (typeof sources)[number], source: number) => {
  const ofClock = clock === undefined ? '' : ` and v${source}.clock = '${clock}' and v${source}.hours = 'all'`
  return `
        left join ${name} v${source} on v${source}.project_id = d.project_id and v${source}.date = d.date
          and v${source}.date >= ${firstDay(sql)}${ofClock}`
}

/** The days, with 1 where neither side will change any more: read after their end, with no gap but of single rows. */
const comparedDays = (sql: SqlDialect) => `
        select r.project_id, r.window_from, r.window_to, t.date,
          case when s.rebuilt_to is null and f.unread = 0
            and ${sql.epoch('r.read_at')} >= ${sql.epoch('r.window_to')} + ${lateSeconds}
            and ${sql.epoch('f.read_at')} >= ${sql.epoch('r.window_to')} + ${lateSeconds}
            and not exists (
              select 1 from sync_gaps g
              where g.project_id = r.project_id and g.resolved_at is null
                and g.stream not in ('analytics', 'availability') and g.dedup_key not like 'parent:%'
                and coalesce(g.from_ts, r.window_from) < r.window_to and coalesce(g.to_ts, r.window_from) >= r.window_from
            ) then 1 else 0 end as is_final
        from analytics_rollups r
        join facts_state s on s.project_id = r.project_id and s.time_zone = r.time_zone
        join dim_date t on t.project_id = r.project_id and t.date = r.day
        left join (
          select project_id, min(synced_at) as read_at, count(*) - count(synced_at) as unread from sync_streams
          where stream in ('conversations', 'messages', 'visitors', 'calls') and skipped is null
          group by project_id
        ) f on f.project_id = r.project_id
        where r.day >= ${firstDay(sql)}`

/** Half a unit of the last digit that the service shows. */
const tolerance = `case when abs(service_value - round(service_value)) < 1e-9 then 0.5
          when abs(10 * service_value - round(10 * service_value)) < 1e-6 then 0.05
          when abs(100 * service_value - round(100 * service_value)) < 1e-6 then 0.005 else 0.0005 end + 1e-9`

/** Every number of the service beside every one of ours, by day. \`distinct\`: Postgres chooses ours once a day, not for each number of the service. */
const comparedNumbers = (sql: SqlDialect) => `(
          select *,
            case when own_value is null then case when service_value = 0 then 1 else 0 end
              when abs(service_value - own_value) <= ${tolerance} then 1 else 0 end as is_equal
          from (
            select d.project_id, d.date, d.is_final, m.metric, m.value as service_value, d.place, d.definition, d.own_value
            from (
              select distinct d.project_id, d.window_from, d.window_to, d.date, d.is_final,
                n.column1 as place, n.column2 as definition,
                cast(case n.column1${ownNumbers.map(({ value }, place) => ` when ${place} then ${value}`).join('')}
                end as double precision) as own_value
              from (${comparedDays(sql)}
              ) d${sources.map((source, index) => joinSource(sql, source, index)).join('')}
              cross join (values ${ownNumbers.map(({ definition }, place) => `(${place}, '${definition}')`).join(', ')}) n
            ) d
            join analytics_metrics m
              on m.project_id = d.project_id and m.window_from = d.window_from and m.window_to = d.window_to
          ) numbers
        ) compared`

/** How well a number of the service and one of ours fit on all final days. \`over\`: empty, or the window of the pair. */
const fitOfPair = (over: string) => `
          sum(is_final) ${over} as days, sum(is_final * is_equal) ${over} as days_equal,
          sum(case when service_value = 0 then 0 else is_final * is_equal end) ${over} as days_proving,
          avg(case when is_final = 1 then abs(service_value - coalesce(own_value, 0)) end) ${over} as mean_difference`

const rankedBy = (partition: string) =>
  `row_number() over (partition by ${partition} order by days_equal desc, mean_difference, place) as rank_of_pair`

const isFit = `rank_of_pair = 1 and days_proving >= ${enough.days} and days_equal >= ${enough.equalShare} * days`
const whenFits = (value: string) => `case when ${isFit} then ${value} end`

const comparison = {
  days: [
    kind.level(`of the last ${days} days, those that had ended when both sides were read, without a gap`),
    'cast(days as bigint)',
  ],
  days_equal: [kind.level('of these, days on which both are equal to the digits shown'), 'cast(days_equal as bigint)'],
} as const

export const rollupViews = {
  report_rollup_fit: queryView({
    note: 'Each number of the daily rollups beside each daily number of ours: on how many days they are equal.',
    caveat: `is_fit marks the one of ours that fits best, if it is equal on ${enough.equalShare * 100} % of the days, and on at least ${enough.days} on which the number is not 0. If none is marked, none of ours is that number. Computed when asked for.`,
    key: {
      project_id: projectId,
      metric: kind.key('dotted path of the number within the rollup'),
      definition: kind.key('the number of ours: view, column, and the clock of response times'),
    },
    columns: {
      ...comparison,
      mean_difference: orNull.mean('mean difference on these days'),
      place: [kind.number('1 = fits best'), 'cast(rank_of_pair as integer)'],
      is_fit: [kind.flag('it fits best, and well enough'), isFit],
    },
    from: (sql) => `(
      select *, ${rankedBy('project_id, metric')}
      from (
        select project_id, metric, place, definition,${fitOfPair('')}
        from ${comparedNumbers(sql)}
        group by project_id, metric, place, definition
      ) counted
    ) ranked`,
  }),
  report_rollup_day: queryView({
    note: `Each number of the daily rollups of the last ${days} days beside the number of ours that fits best, if one fits: see report_rollup_fit.`,
    caveat: 'A day that is not final may still change on either side.',
    key: {
      project_id: projectId,
      date: kind.date('the local day'),
      metric: kind.key('dotted path of the number within the rollup'),
    },
    columns: {
      service_value: kind.mean("the service's number"),
      own_value: [orNull.mean('our own number; null = none fits, or the day has none'), whenFits('own_value')],
      difference: [orNull.mean('service_value - own_value'), whenFits('service_value - own_value')],
      result: [
        kind.text('equal, different, not final or not compared (none fits)'),
        `coalesce(${whenFits("case when is_final = 0 then 'not final' when is_equal = 1 then 'equal' else 'different' end")},
        'not compared')`,
      ],
      definition: [orNull.text('the number of ours; null = none fits'), whenFits('definition')],
      ...comparison,
    },
    from: (sql) => `(
      select *, ${rankedBy('project_id, metric, date')}
      from (
        select *,${fitOfPair('over (partition by project_id, metric, place)')}
        from ${comparedNumbers(sql)}
      ) counted
    ) ranked
    where rank_of_pair = 1`,
  }),
} satisfies Record<string, AnalyticsView>
