/** Response times by day, week and month: median, 90th percentile and mean, on both clocks, in all and in business hours. */
import type { AnalyticsView, ViewColumn } from './analytics-view.ts'
import { completeWaits } from './complete-waits.ts'
import { percentilesOf } from './percentiles.ts'
import { count, date, duration, meanSeconds, projectId, text } from './view-columns.ts'

/** Each combination is an arm of a union, of which a filter by clock and hours leaves one. */
const arms = [
  { clock: 'any', hours: 'all', value: 'answer_seconds' },
  { clock: 'any', hours: 'business', value: 'answer_business_seconds' },
  { clock: 'human', hours: 'all', value: 'human_seconds' },
  { clock: 'human', hours: 'business', value: 'human_business_seconds' },
] as const

/** The answered waits of complete conversations by the day on which the visitor asked. `value`: how long they took. */
export function answersByDay(value: (typeof arms)[number]['value']): string {
  return answersOf(value, 'date', 'w.started_date', '')
}

function answersOf(value: string, column: string, expression: string, join: string): string {
  return percentilesOf({
    groups: { project_id: 'w.project_id', [column]: expression },
    value: `w.${value}`,
    from: `${completeWaits}${join}
        where w.${value} is not null`,
  })
}

type Period = { readonly column: string; readonly expression: string; readonly join: string; readonly note: ViewColumn }

function answersBy({ column, expression, join, note }: Period): AnalyticsView {
  return {
    note: `Response times by the ${column === 'date' ? 'day' : column} in which the visitor asked.`,
    caveat:
      'Filter by clock and hours: each row is one combination. Medians must not be averaged or added up. Only answered waits of complete conversations count; the newest days still change.',
    key: ['project_id', column, 'clock', 'hours'],
    columns: {
      project_id: projectId,
      [column]: note,
      clock: text('any = until a human or the AI answered; human = until a human answered'),
      hours: text('all = all seconds count; business = only those within business hours'),
      answers: count('answered waits'),
      median_seconds: meanSeconds('half of the answers took this long at most: the mean of the two middle ones'),
      p90_seconds: duration('nine tenths of the answers took this long at most'),
      mean_seconds: meanSeconds('the mean, which a few long waits can dominate'),
    },
    select: () =>
      arms
        .map(
          ({ clock, hours, value }) => `
    select project_id, ${column}, '${clock}' as clock, '${hours}' as hours, values_counted as answers,
      median_value as median_seconds, p90_value as p90_seconds, mean_value as mean_seconds
    from (${answersOf(value, column, expression, join)}
    ) answers_of_period`,
        )
        .join('\n    union all'),
  }
}

const joinDate = `
        join dim_date d on d.project_id = w.project_id and d.date = w.started_date`

export const reportAnswerDay = answersBy({
  column: 'date',
  expression: 'w.started_date',
  join: '',
  note: date('the day on which the visitors asked'),
})
export const reportAnswerWeek = answersBy({
  column: 'week',
  expression: 'd.week',
  join: joinDate,
  note: date('Monday of the week in which the visitors asked'),
})
export const reportAnswerMonth = answersBy({
  column: 'month',
  expression: 'd.month',
  join: joinDate,
  note: date('first day of the month in which the visitors asked'),
})
