/** Volume, waits, backlog and calls by day, from the views for analysts. */

import { legend, type Series, type TimeChart, timeChart } from '../../document/chart.ts'
import { path, withQuery } from '../../values/address.ts'
import { formatCount } from '../../values/format.ts'
import { type Html, html } from '../../values/html.ts'
import { choices, section } from '../blocks.ts'
import type { DayRow } from '../core/data.ts'
import type { Page, ProjectFrame } from '../page.ts'
import { roughly } from '../text.ts'

/** `days` null: they are still being counted. */
type ChartsView = {
  readonly days: readonly DayRow[] | null
  readonly over: string
  readonly choices: readonly string[]
}

const dayMs = 86_400_000

export function chartsPage({ days, over, choices: spans }: ChartsView, { project }: ProjectFrame): Page {
  const address = path`/console/p/${project}/charts`
  const filters = spans.map((span) => ({
    label: span,
    to: withQuery(address, { over: span }),
    isChosen: span === over,
  }))
  const counting = html`<p class="empty" role="status">The numbers are being counted. <a href="${withQuery(address, { over })}">Look again</a></p>`
  const empty = html`<p class="empty">There are no numbers yet: they follow the first sync.</p>`
  const shown = days === null ? counting : days.length === 0 ? empty : charts(days)
  return { title: 'Charts', section: 'Charts', content: html`${choices('The last', filters)}${shown}` }
}

function charts(days: readonly DayRow[]): Html {
  const series = (name: string, style: string, of: (day: DayRow) => number | null): Series => ({
    name,
    style,
    values: days.map(of),
  })
  const draw = dayChart(days)
  const waits = [
    series('answered by a human', 'first', ({ answeredByHuman }) => answeredByHuman),
    series('answered by the AI', 'second', ({ answeredByAi }) => answeredByAi),
    series('not answered', 'third', ({ notAnswered }) => notAnswered),
  ]
  const answers = [
    series('median', 'first', ({ medianSeconds }) => medianSeconds),
    series('nine of ten within', 'second', ({ p90Seconds }) => p90Seconds),
  ]
  const backlog = [
    series('open', 'first', ({ openAtEnd }) => openAtEnd),
    series('waiting', 'second', ({ waitingAtEnd }) => waitingAtEnd),
  ]
  const seconds = (value: number) => roughly(value * 1000)
  return html`${section('Messages of visitors', draw('messages', 'Messages of visitors a day', 'stacked bars', [series('messages', 'first', ({ visitorMessages }) => visitorMessages)]))}
${section('Waits', html`${legend(waits)}${draw('waits', 'Waits by who ended them', 'stacked bars', waits)}`)}
${section('Time until a human answered', html`${legend(answers)}${draw('answers', 'Time until a human answered', 'lines', answers, seconds)}`)}
${section('Backlog', html`${legend(backlog)}${draw('backlog', 'Conversations at the end of the day', 'lines', backlog)}`)}
${section('Calls', draw('calls', 'Calls a day', 'stacked bars', [series('calls', 'first', ({ calls }) => calls)]))}`
}

/** Local dates are drawn as if they were UTC: a chart of days has no hours. */
function dayChart(days: readonly DayRow[]) {
  const times = days.map(({ date }) => Date.parse(`${date}T00:00:00Z`))
  const [from = 0, last = 0] = [times[0], times.at(-1)]
  return (
    id: string,
    title: string,
    kind: TimeChart['kind'],
    series: readonly Series[],
    formatValue = formatCount,
  ): Html =>
    timeChart({
      ...{ id, title, kind, series, times, from, to: last + dayMs, stepMs: dayMs, formatValue },
      formatTime: (at) => new Date(at).toISOString().slice(5, 10),
    })
}
