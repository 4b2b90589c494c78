/** How long answers and handlings took: median, 90th percentile and mean. */

import { percentilesOf } from './by-windows.ts'
import { type AnalyticsView, kind, projectId, type ViewColumn, weighted } from './view-spec.ts'
import { completeWaits, hours } from './waits.ts'

/** `labels`: the columns that name it. The row is `w` in `from`, `dated` and `value`. */
type DurationKind = {
  readonly labels: readonly string[]
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

const firstDays = {
  date: 'the day',
  week: 'Monday of the week',
  month: 'first day of the month',
} as const
type Period = keyof typeof firstDays

function durationView(report: DurationReport, period: Period): AnalyticsView {
  const { dated, note, caveat, counted, kinds } = report
  const labels = Object.keys(report.labels)
  const select = (part: DurationKind) => `
    select project_id, ${period}, ${labels.map((name, n) => `'${part.labels[n]}' as ${name}`).join(', ')}, values_counted as ${counted[0]},
      median_value as median_seconds, p90_value as p90_seconds, mean_value as mean_seconds
    from (${durationsOf(part, period)}
    ) durations`
  return {
    note: `${note} by the ${period === 'date' ? 'day' : period} ${dated}.`,
    caveat: `Filter by ${labels.join(' and ')}: each row is one combination. ${caveat}`,
    key: ['project_id', period, ...labels],
    alternatives: labels,
    columns: {
      project_id: projectId,
      [period]: kind.date(`${firstDays[period]} ${dated}`),
      ...report.labels,
      [counted[0]]: kind.count(counted[1]),
      median_seconds: kind.meanSeconds(
        'half of them took this long at most: the mean of the two middle ones',
      ),
      p90_seconds: kind.duration('nine tenths of them took this long at most'),
      mean_seconds: weighted(
        kind.meanSeconds('the mean, which a few long ones can dominate'),
        counted[0],
      ),
    },
    select: () => kinds.map(select).join('\n    union all'),
  }
}

function durationsOf({ from, dated, value }: DurationKind, period: Period): string {
  const join = `
        join dim_date d on d.project_id = w.project_id and d.date = ${dated}`
  return percentilesOf({
    groups: { project_id: 'w.project_id', [period]: period === 'date' ? dated : `d.${period}` },
    value,
    from: `${from}${period === 'date' ? '' : join}
        where ${value} is not null and ${dated} is not null`,
  })
}

/** `value`: the column of all seconds; that of business hours has a name of the same form. */
function kindsOf(label: string, from: string, dated: string, value: string): DurationKind[] {
  return ['all', 'business'].map((hours) => ({
    labels: [label, hours],
    from,
    dated,
    value: hours === 'all' ? value : value.replace('seconds', 'business_seconds'),
  }))
}

const answers: DurationReport = {
  dated: 'in which the visitor asked',
  note: 'Response times of all waits',
  caveat: 'Only answered waits of complete conversations count; the newest days still change.',
  labels: {
    clock: kind.text('any = until a human or the AI answered; human = until a human answered'),
    hours,
  },
  counted: ['answers', 'answered waits'],
  kinds: [
    ...kindsOf('any', completeWaits, 'w.started_date', 'w.answer_seconds'),
    ...kindsOf('human', completeWaits, 'w.started_date', 'w.human_seconds'),
  ],
}

/** Of complete conversations by the day of the question. `value`: how long they took. */
export function answersByDay(value: 'human_seconds' | 'human_business_seconds'): string {
  return durationsOf(
    { labels: [], from: completeWaits, dated: 'w.started_date', value: `w.${value}` },
    'date',
  )
}

const completeConversations = '(select * from fct_conversation where is_complete) w'
const firstStates =
  "(select * from fct_state where state_number = 1 and state = 'open' and to_at is not null) w"

const durations: DurationReport = {
  dated: 'in which the conversations were created',
  note: 'Times to the first response and to resolution',
  caveat:
    'Answers count from the visitor’s first message, in complete conversations; handlings ' +
    'from the creation. Only conversations that have been answered or handled count, so ' +
    'the newest days still change, and look fast.',
  labels: {
    until: kind.text(
      'first answer (of a human or the AI), first human answer, first handling (as far as ' +
        'it is known) or last handling (the present one)',
    ),
    hours,
  },
  counted: ['conversations', 'conversations of which the time is known'],
  kinds: [
    ...kindsOf('first answer', completeConversations, 'w.created_date', 'w.first_answer_seconds'),
    ...kindsOf(
      'first human answer',
      completeConversations,
      'w.created_date',
      'w.first_human_seconds',
    ),
    ...kindsOf('first handling', firstStates, 'w.from_date', 'w.seconds'),
    ...kindsOf('last handling', 'fct_conversation w', 'w.created_date', 'w.handled_seconds'),
  ],
}

export const durationViews = {
  report_answer_day: durationView(answers, 'date'),
  report_answer_week: durationView(answers, 'week'),
  report_answer_month: durationView(answers, 'month'),
  report_duration_day: durationView(durations, 'date'),
  report_duration_week: durationView(durations, 'week'),
  report_duration_month: durationView(durations, 'month'),
}
