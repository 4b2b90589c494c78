/** Requests by priority over time, with the limit, the pauses and the 429s. */
import type { BudgetData } from '../core/console/data.ts'
import { formatCount } from '../core/format.ts'
import type { Html } from '../core/html/html.ts'
import type { Priority } from '../core/rate-limit/priority.ts'
import { legend, timeChart } from './chart.ts'
import type { ProjectFrame } from './page.ts'
import { formatTime } from './time.ts'

const series: readonly { readonly priority: Priority; readonly name: string; readonly style: string }[] = [
  { priority: 'write', name: 'write-backs', style: 'second' },
  { priority: 'fresh', name: 'new rows', style: 'first' },
  { priority: 'backfill', name: 'backfill', style: 'third' },
  { priority: 'reconcile', name: 'comparing', style: 'fourth' },
]

export const priorityNames = Object.fromEntries(series.map(({ priority, name }) => [priority, name])) as Readonly<
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
