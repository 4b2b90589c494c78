/** Where the request budget goes. */
import type { BudgetData } from '../../core/console/data.ts'
import { formatCount } from '../../core/format.ts'
import { path, withQuery } from '../../core/html/address.ts'
import { html } from '../../core/html/html.ts'
import { priorities } from '../../core/rate-limit/priority.ts'
import { choices, facts, section } from '../blocks.ts'
import { budgetChart, budgetLegend, priorityNames } from '../budget-chart.ts'
import type { Page, ProjectFrame } from '../page.ts'
import { table } from '../table.ts'
import { roughly, timeOf } from '../time.ts'

/** `over`: how long. */
export type BudgetView = { readonly data: BudgetData; readonly over: string; readonly choices: readonly string[] }

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
