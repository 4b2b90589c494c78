/** How long answers and handlings took, by day, week and month: median, 90th percentile and mean. */
import type { AnalyticsView, ViewColumn } from './analytics-view.ts'
import { percentilesOf } from './by-windows.ts'
import { completeWaits } from './report-waits.ts'
import * as kind from './view-columns.ts'

/** One kind. `labels`: the values of the columns that name it. The row is `w` in `from`, `dated` and `value`. */
type DurationKind = {
  readonly labels: Readonly<Record<string, string>>
  readonly from: string
  readonly dated: string
  readonly value: string
}

type DurationReport = {
  /** By what day a duration counts, such as `in which the visitor asked`. */
  readonly dated: string
  readonly note: string
  readonly caveat: string
  /** The columns that name a kind, to be filtered by. */
  readonly labels: Readonly<Record<string, ViewColumn>>
  /** The name of what is counted, such as `answers`, and its note. */
  readonly counted: readonly [name: string, note: string]
  /** Each is an arm of a union, of which a filter by the labels leaves one. */
  readonly kinds: readonly DurationKind[]
}

type Period = 'day' | 'week' | 'month'

function durationView(report: DurationReport, period: Period): AnalyticsView {
  const { dated, note, caveat, labels, counted, kinds } = report
  const column = period === 'day' ? 'date' : period
  const firstDay = { day: 'the day', week: 'Monday of the week', month: 'first day of the month' }[period]
  return {
    note: `${note} by the ${period} ${dated}.`,
    caveat: `Filter by ${Object.keys(labels).join(' and ')}: each row is one combination. ${caveat}`,
    key: ['project_id', column, ...Object.keys(labels)],
    alternatives: Object.keys(labels),
    columns: {
      project_id: kind.projectId,
      [column]: kind.date(`${firstDay} ${dated}`),
      ...labels,
      [counted[0]]: kind.count(counted[1]),
      median_seconds: kind.meanSeconds('half of them took this long at most: the mean of the two middle ones'),
      p90_seconds: kind.duration('nine tenths of them took this long at most'),
      mean_seconds: kind.weighted(kind.meanSeconds('the mean, which a few long ones can dominate'), counted[0]),
    },
    select: () =>
      kinds
        .map(
          (part) => `
    select project_id, ${column}, ${Object.entries(part.labels)
      .map(([name, value]) => `'${value}' as ${name}`)
      .join(', ')}, values_counted as ${counted[0]},
      median_value as median_seconds, p90_value as p90_seconds, mean_value as mean_seconds
    from (${durationsOf(part, period)}
    ) durations`,
        )
        .join('\n    union all'),
  }
}

function durationsOf({ from, dated, value }: DurationKind, period: Period): string {
  const join = `
        join dim_date d on d.project_id = w.project_id and d.date = ${dated}`
  return percentilesOf({
    groups: {
      project_id: 'w.project_id',
      [period === 'day' ? 'date' : period]: period === 'day' ? dated : `d.${period}`,
    },
    value,
    from: `${from}${period === 'day' ? '' : join}
        where ${value} is not null and ${dated} is not null`,
  })
}

type AnswerColumn = 'answer_seconds' | 'answer_business_seconds' | 'human_seconds' | 'human_business_seconds'

const kindOf = (clock: string, hours: string, value: AnswerColumn): DurationKind => ({
  labels: { clock, hours },
  from: completeWaits,
  dated: 'w.started_date',
  value: `w.${value}`,
})

/** On both clocks, in all and in business hours. */
const answers: DurationReport = {
  dated: 'in which the visitor asked',
  note: 'Response times of all waits',
  caveat: 'Only answered waits of complete conversations count; the newest days still change.',
  labels: {
    clock: kind.text('any = until a human or the AI answered; human = until a human answered'),
    hours: kind.text('all = all seconds count; business = only those within business hours'),
  },
  counted: ['answers', 'answered waits'],
  kinds: [
    kindOf('any', 'all', 'answer_seconds'),
    kindOf('any', 'business', 'answer_business_seconds'),
    kindOf('human', 'all', 'human_seconds'),
    kindOf('human', 'business', 'human_business_seconds'),
  ],
}

export const reportAnswerDay = durationView(answers, 'day')
export const reportAnswerWeek = durationView(answers, 'week')
export const reportAnswerMonth = durationView(answers, 'month')

/** The answered waits of complete conversations by the day on which the visitor asked. `value`: how long they took. */
export function answersByDay(value: AnswerColumn): string {
  return durationsOf(kindOf('', '', value), 'day')
}

/** `value`: the column of all seconds; that of business hours has a name of the same form. */
function kindsOf(until: string, from: string, dated: string, value: string): DurationKind[] {
  return ['all', 'business'].map((hours) => ({
    labels: { until, hours },
    from,
    dated,
    value: `w.${hours === 'all' ? value : value.replace('seconds', 'business_seconds')}`,
  }))
}

const completeConversations = '(select * from fct_conversation where is_complete) w'

const durations: DurationReport = {
  dated: 'in which the conversations were created',
  note: 'Times to the first response and to resolution',
  caveat:
    'Answers count from the visitor’s first message, in complete conversations; handlings from the creation. Only conversations that have been answered or handled count, so the newest days still change, and look fast.',
  labels: {
    until: kind.text(
      'first answer (of a human or the AI), first human answer, first handling (as far as it is known) or last handling (the present one)',
    ),
    hours: kind.text('all = all seconds count; business = only those within business hours'),
  },
  counted: ['conversations', 'conversations of which the time is known'],
  kinds: [
    ...kindsOf('first answer', completeConversations, 'w.created_date', 'first_answer_seconds'),
    ...kindsOf('first human answer', completeConversations, 'w.created_date', 'first_human_seconds'),
    ...kindsOf(
      'first handling',
      "(select * from fct_state where state_number = 1 and state = 'open' and to_at is not null) w",
      'w.from_date',
      'seconds',
    ),
    ...kindsOf('last handling', 'fct_conversation w', 'w.created_date', 'handled_seconds'),
  ],
}

export const reportDurationDay = durationView(durations, 'day')
export const reportDurationWeek = durationView(durations, 'week')
export const reportDurationMonth = durationView(durations, 'month')
