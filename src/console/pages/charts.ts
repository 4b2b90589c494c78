/** Volume, waits, backlog and calls by day, from the views for analysts. */
import { legend, type TimeChart, timeChart } from '../../document/chart.ts'
import { withQuery } from '../../values/address.ts'
import { formatCount } from '../../values/format.ts'
import { type Html, html, nothing } from '../../values/html.ts'
import { addressOf, section, spanChoices } from '../blocks.ts'
import type { Page } from '../page.ts'
import type { ScreenRequest } from '../screen.ts'
import type { DayRow } from '../sql/overview.ts'
import { roughly } from '../text.ts'

const dayMs = 86_400_000
/** In days. */
const spans = { '30 days': 30, '14 days': 14, '90 days': 90, '365 days': 365 }

export async function showCharts({ reads, project, frame, query }: ScreenRequest): Promise<Page> {
  const address = addressOf(frame, 'charts')
  const { over, links } = spanChoices(spans, query('over'), address)
  const from = new Date(frame.now - spans[over] * dayMs).toISOString().slice(0, 10)
  const days = await reads.days(project, from)
  const counting = html`<p class="empty" role="status">The numbers are being counted. <a href="${withQuery(address, { over })}">Look again</a></p>`
  const empty = html`<p class="empty">There are no numbers yet: they follow the first sync.</p>`
  const shown = days === null ? counting : days.length === 0 ? empty : charts.map((chart) => draw(chart, days))
  return { title: 'Charts', section: 'Charts', content: html`${links}${shown}` }
}

type DayChart = {
  readonly id: string
  readonly heading: string
  readonly title: string
  readonly kind: TimeChart['kind']
  /** By name, in the order of the styles. */
  readonly series: Readonly<Record<string, Exclude<keyof DayRow, 'date'>>>
  readonly formatValue?: (value: number) => string
}

const styles = ['first', 'second', 'third']

const charts: readonly DayChart[] = [
  {
    ...{ id: 'messages', heading: 'Messages of visitors', title: 'Messages of visitors a day', kind: 'stacked bars' },
    series: { messages: 'visitorMessages' },
  },
  {
    ...{ id: 'waits', heading: 'Waits', title: 'Waits by who ended them', kind: 'stacked bars' },
    series: {
      'answered by a human': 'answeredByHuman',
      'answered by the AI': 'answeredByAi',
      'not answered': 'notAnswered',
    },
  },
  {
    ...{ id: 'answers', heading: 'Time until a human answered', title: 'Time until a human answered', kind: 'lines' },
    series: { median: 'medianSeconds', 'nine of ten within': 'p90Seconds' },
    formatValue: (seconds) => roughly(seconds * 1000),
  },
  {
    ...{ id: 'backlog', heading: 'Backlog', title: 'Conversations at the end of the day', kind: 'lines' },
    series: { open: 'openAtEnd', waiting: 'waitingAtEnd' },
  },
  {
    ...{ id: 'calls', heading: 'Calls', title: 'Calls a day', kind: 'stacked bars' },
    series: { calls: 'calls' },
  },
]

/** Local dates are drawn as if they were UTC: a chart of days has no hours. */
function draw(
  { id, heading, title, kind, series, formatValue = formatCount }: DayChart,
  days: readonly DayRow[],
): Html {
  const times = days.map(({ date }) => Date.parse(`${date}T00:00:00Z`))
  const [from = 0, last = 0] = [times[0], times.at(-1)]
  const drawn = Object.entries(series).map(([name, column], n) => ({
    ...{ name, style: styles[n] ?? '', values: days.map((day) => day[column]) },
  }))
  const chart = timeChart({
    ...{ id, title, kind, series: drawn, times, from, to: last + dayMs, stepMs: dayMs, formatValue },
    formatTime: (at) => new Date(at).toISOString().slice(5, 10),
  })
  return section(heading, html`${drawn.length === 1 ? nothing : legend(drawn)}${chart}`)
}
