/** Where the request budget goes. */

import { legend, timeChart } from '../../document/chart.ts'
import { table } from '../../document/table.ts'
import type { BudgetData } from '../../service/core/budget-history.ts'
import { type Priority, priorities } from '../../service/core/priority.ts'
import { path, withQuery } from '../../values/address.ts'
import { formatCount } from '../../values/format.ts'
import { type Html, html } from '../../values/html.ts'
import { choices, facts, section } from '../blocks.ts'
import type { Page, ProjectFrame } from '../page.ts'
import { formatTime, roughly, timeOf } from '../text.ts'

/** `over`: how long. */
type BudgetView = { readonly data: BudgetData; readonly over: string; readonly choices: readonly string[] }

export function budgetPage({ data, over, choices: spans }: BudgetView, frame: ProjectFrame): Page {
  const address = path`/console/p/${frame.project}/budget`
  const filters = spans.map((span) => ({
    label: span,
    to: withQuery(address, { over: span }),
    isChosen: span === over,
  }))
  const { bars, pauses, limit } = data
  const sum = (of: (bar: BudgetData['bars'][number]) => number) => bars.reduce((total, bar) => total + of(bar), 0)
  const all = sum(({ requests }) => Object.values(requests).reduce((total, count) => total + count, 0))
  const content = html`${choices('The last', filters)}
${facts([
  ['Requests', formatCount(all)],
  ['Allowed a minute', limit === null ? 'not known here' : formatCount(limit)],
  ['Answered by 429', formatCount(sum(({ throttled }) => throttled))],
  ['Pauses', formatCount(pauses.length)],
])}
${section('Requests', html`${budgetLegend}${budgetChart(data, frame)}`)}
${section(
  'What for',
  table({
    caption: 'Requests by priority',
    columns: [{ title: 'Priority' }, { title: 'Requests', isNumber: true }],
    rows: priorities.map((priority) => [
      priorityNames[priority],
      formatCount(sum(({ requests }) => requests[priority] ?? 0)),
    ]),
    empty: '',
  }),
)}
${section(
  'Pauses',
  table({
    caption: 'When no request was sent',
    columns: [{ title: 'Why' }, { title: 'From' }, { title: 'For', isNumber: true }],
    rows: pauses
      .toReversed()
      .slice(0, 50)
      .map(({ kind, from, to }) => [
        kind === 'throttled' ? 'the service answered 429' : 'past use was not known',
        timeOf(new Date(from).toISOString(), frame),
        roughly(to - from),
      ]),
    empty: 'There was none.',
  }),
)}`
  return { title: 'Budget', section: 'Budget', content }
}

/** Requests by priority over time, with the limit, the pauses and the 429s. */
const series: readonly { readonly priority: Priority; readonly name: string; readonly style: string }[] = [
  { priority: 'write', name: 'write-backs', style: 'second' },
  { priority: 'fresh', name: 'new rows', style: 'first' },
  { priority: 'backfill', name: 'backfill', style: 'third' },
  { priority: 'reconcile', name: 'comparing', style: 'fourth' },
]

const priorityNames = Object.fromEntries(series.map(({ priority, name }) => [priority, name])) as Readonly<
  Record<Priority, string>
>

export const budgetLegend: Html = legend([
  ...series,
  { name: 'pause after a 429', style: 'shade throttled' },
  { name: 'closed: past use not known', style: 'shade closed' },
])

const minuteMs = 60_000

export function budgetChart({ limit, from, to, stepMs, bars, pauses }: BudgetData, { timeZone }: ProjectFrame): Html {
  const perBar = limit === null ? null : Math.round((limit * stepMs) / minuteMs)
  const isLong = to - from > 2 * 86_400_000
  return timeChart({
    id: 'budget',
    title: stepMs === minuteMs ? 'Requests a minute' : 'Requests over time',
    kind: 'stacked bars',
    from,
    to,
    stepMs,
    times: bars.map(({ at }) => at),
    series: series.map(({ priority, ...rest }) => ({
      ...rest,
      values: bars.map(({ requests }) => requests[priority] ?? 0),
    })),
    limit: perBar === null ? null : { value: perBar, label: `allowed ${formatCount(perBar)}` },
    shades: pauses.map((pause) => ({
      ...pause,
      style: pause.kind,
      label: pause.kind === 'closed' ? 'closed' : 'pause after a 429',
    })),
    marks: bars
      .filter(({ throttled }) => throttled > 0)
      .map(({ at, throttled }) => ({ at, label: `${throttled} answered by 429` })),
    formatTime: (at) => (isLong ? formatTime(at, timeZone).slice(5) : formatTime(at, timeZone).slice(11)),
    formatValue: formatCount,
  })
}
