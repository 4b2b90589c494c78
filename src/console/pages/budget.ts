/** Where the request budget goes. */
import { timeChart } from '../../document/chart.ts'
import type { Priority } from '../../service/core/api-request.ts'
import { readBudget } from '../../service/sql/request-counts.ts'
import { withQuery } from '../../values/address.ts'
import { formatCount, formatTime } from '../../values/format.ts'
import { type Html, html } from '../../values/html.ts'
import { dayMs, hourMs, minuteMs } from '../../values/time.ts'
import { addressOf, choices, cutNote, facts, section, table } from '../blocks.ts'
import { rowsPerPage } from '../core/list-page.ts'
import type { ConsolePage, ProjectFrame } from '../frame.ts'
import { limitOf } from '../project.ts'
import type { ScreenRequest } from '../screen.ts'
import { spanText, timeOf } from '../text.ts'

/** How long, and how long one bar is: some 60 to 100 bars. */
const budgetSpans = {
  '1 hour': { ms: hourMs, stepMs: minuteMs },
  '24 hours': { ms: dayMs, stepMs: 15 * minuteMs },
  '7 days': { ms: 7 * dayMs, stepMs: 2 * hourMs },
  '30 days': { ms: 30 * dayMs, stepMs: 8 * hourMs },
}

export async function showBudget({
  db,
  project,
  frame,
  query,
}: ScreenRequest): Promise<ConsolePage> {
  const names = Object.keys(budgetSpans) as (keyof typeof budgetSpans)[]
  const over = names.find((name) => name === query('over')) ?? '1 hour'
  const to = (label: string) => withQuery(addressOf(frame, 'budget'), { over: label })
  const spans = names.map((label) => ({ label, to: to(label), isChosen: label === over }))
  const { ms, stepMs } = budgetSpans[over]
  const data = {
    limit: limitOf(project),
    ...(await readBudget(db, frame.now - ms, frame.now, stepMs)),
  }
  const { bars, pauses, limit } = data
  const sum = (of: (bar: (typeof bars)[number]) => number) =>
    bars.reduce((total, bar) => total + of(bar), 0)
  const all = sum(({ requests }) =>
    Object.values(requests).reduce((total, count) => total + count, 0),
  )
  const byPriority = table(
    'Requests by priority',
    ['Priority', '#Requests'],
    series.map(({ priority, name }) => [
      name,
      formatCount(sum(({ requests }) => requests[priority] ?? 0)),
    ]),
  )
  const newestPauses = pauses.toReversed().slice(0, rowsPerPage)
  const pauseTable = table(
    'When no request was sent',
    ['Why', 'From', '#For'],
    newestPauses.map(({ kind, from, to }) => [
      kind === 'throttled' ? 'the service answered 429' : 'past use was not known',
      timeOf(new Date(from).toISOString(), frame),
      spanText(to - from),
    ]),
    'There was none.',
  )
  const content = html`${choices('The last', spans)}
${facts([
  ['Requests', formatCount(all)],
  ['Allowed a minute', limit === null ? 'not known here' : formatCount(limit)],
  ['Answered by 429', formatCount(sum(({ throttled }) => throttled))],
  ['Pauses', formatCount(pauses.length)],
])}
${section('Requests', budgetChart(data, frame))}
${section('What for', byPriority)}
${section('Pauses', html`${pauseTable}${cutNote(pauses.length, rowsPerPage)}`)}`
  return { title: 'Budget', section: 'Budget', content }
}

/** Requests by priority over time, with the limit, the pauses and the 429s. */
const series: readonly {
  readonly priority: Priority
  readonly name: string
  readonly style: string
}[] = [
  { priority: 'write', name: 'write-backs', style: 'second' },
  { priority: 'fresh', name: 'new rows', style: 'first' },
  { priority: 'backfill', name: 'backfill', style: 'third' },
  { priority: 'reconcile', name: 'comparing', style: 'fourth' },
]

/** `limit`: requests that the key allows in a minute; null: not known here. */
export function budgetChart(
  {
    limit,
    from,
    to,
    stepMs,
    bars,
    pauses,
  }: Awaited<ReturnType<typeof readBudget>> & { readonly limit: number | null },
  { timeZone }: ProjectFrame,
): Html {
  const perBar = limit === null ? null : Math.round((limit * stepMs) / minuteMs)
  const isLong = to - from > 2 * dayMs
  const unfinishedFrom = Math.floor(to / stepMs) * stepMs
  const throttled = bars.filter((bar) => bar.throttled > 0)
  return timeChart({
    id: 'budget',
    kind: 'stacked bars',
    from,
    to: unfinishedFrom + stepMs,
    stepMs,
    unfinishedFrom,
    unit: 'requests',
    timeUnit: spanText(stepMs),
    title: stepMs === minuteMs ? 'Requests a minute' : 'Requests over time',
    times: bars.map(({ at }) => at),
    series: series.map(({ priority, name, style }) => ({
      name,
      style,
      values: bars.map(({ requests }) => requests[priority] ?? 0),
    })),
    limit: perBar === null ? null : { value: perBar, label: `allowed ${formatCount(perBar)}` },
    shades: pauses.map((pause) => ({
      ...pause,
      style: pause.kind,
      label: pause.kind === 'closed' ? 'closed' : 'pause after a 429',
    })),
    legend: [
      { name: 'pause after a 429', style: 'shade throttled' },
      { name: 'closed: past use not known', style: 'shade closed' },
    ],
    marks: throttled.map((bar) => ({ at: bar.at, label: `${bar.throttled} answered by 429` })),
    formatTime: (at) => formatTime(at, timeZone).slice(isLong ? 5 : 11),
  })
}
