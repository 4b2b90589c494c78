/** Charts over time as SVG, drawn on the server; the table below each has the same numbers. */
import { scaleLinear, scaleUtc } from 'd3-scale'
import { line, stack } from 'd3-shape'
import { attribute, type Html, html, nothing } from '../core/html/html.ts'
import type { EpochMs, Ms } from '../core/time.ts'
import { table } from './table.ts'

export type Series = { readonly name: string; readonly style: string; readonly values: readonly (number | null)[] }

export type TimeChart = {
  /** Unique in the page. */
  readonly id: string
  readonly title: string
  readonly kind: 'stacked bars' | 'lines'
  readonly from: EpochMs
  readonly to: EpochMs
  /** Where each value begins, and how much time it covers. */
  readonly times: readonly EpochMs[]
  readonly stepMs: Ms
  readonly series: readonly Series[]
  readonly limit?: { readonly value: number; readonly label: string } | null
  /** Spans behind the values. */
  readonly shades?: readonly {
    readonly from: EpochMs
    readonly to: EpochMs
    readonly label: string
    readonly style: string
  }[]
  /** Single times below the values. */
  readonly marks?: readonly { readonly at: EpochMs; readonly label: string }[]
  readonly formatTime: (at: EpochMs) => string
  readonly formatValue: (value: number) => string
}

const size = { width: 720, height: 210 } as const
const plot = { left: 52, right: 712, top: 14, bottom: 178 } as const

type Scales = {
  readonly x: (at: EpochMs) => number
  readonly y: (value: number) => number
  readonly yTicks: readonly number[]
}

export function timeChart(chart: TimeChart): Html {
  const { id, title, times, series, shades = [], marks = [], limit = null } = chart
  const scales = scalesOf(chart)
  const names = series.map(({ name }) => name).join(', ')
  const svg = html`<svg class="chart" role="img" aria-labelledby="${id}-title" viewBox="0 0 ${size.width} ${size.height}">
<title id="${id}-title">${title}: ${names}</title>
${shades.map((shade) => shadeOf(shade, scales))}${axes(chart, scales)}
${chart.kind === 'lines' ? lines(chart, scales) : bars(chart, scales)}
${marks.map(({ at, label }) => html`<circle class="mark" cx="${round(scales.x(at))}" cy="${plot.bottom + 5}" r="2.5"><title>${label}</title></circle>`)}
${limit === null ? nothing : limitLine(limit, scales)}</svg>`
  const numbers = table({
    caption: title,
    columns: [{ title: 'Time' }, ...series.map(({ name }) => ({ title: name, isNumber: true }))],
    rows: times.map((at, index) => [
      chart.formatTime(at),
      ...series.map(({ values }) => valueText(chart, values[index] ?? null)),
    ]),
    empty: 'There are no numbers yet.',
  })
  return html`<figure><div class="scroll" role="region" ${attribute('tabindex', 0)} aria-label="${title}, chart">${svg}</div>
<details><summary>As a table</summary><div class="scroll">${numbers}</div></details></figure>`
}

function valueText({ formatValue }: TimeChart, value: number | null): string {
  return value === null ? '–' : formatValue(value)
}

function scalesOf({ from, to, series, kind, times, limit }: TimeChart): Scales {
  const totals = times.map((_, index) => {
    const values = series.map(({ values: own }) => own[index] ?? 0)
    return kind === 'lines' ? Math.max(0, ...values) : values.reduce((sum, value) => sum + value, 0)
  })
  const y = scaleLinear([0, Math.max(1, limit?.value ?? 0, ...totals)], [plot.bottom, plot.top]).nice(4)
  const x = scaleUtc([from, to], [plot.left, plot.right])
  return { x: (at) => Number(x(at)), y: (value) => Number(y(value)), yTicks: y.ticks(4).filter(Number.isInteger) }
}

function axes({ from, to, stepMs, formatTime, formatValue }: TimeChart, { x, y, yTicks }: Scales): Html[] {
  const xTicks = scaleUtc([from, to], [plot.left, plot.right])
    .ticks(6)
    .map((at) => at.getTime())
  // A label stands below the middle of its bar, and one that would be cut off is left out.
  const labelAt = (at: EpochMs) => x(at + stepMs / 2)
  return [
    ...yTicks.map(
      (value) =>
        html`<line class="grid" x1="${plot.left}" x2="${plot.right}" y1="${round(y(value))}" y2="${round(y(value))}"></line><text class="end" x="${plot.left - 6}" y="${round(y(value) + 4)}">${formatValue(value)}</text>`,
    ),
    ...xTicks
      .filter((at) => labelAt(at) < plot.right - 12)
      .map(
        (at) => html`<text class="middle" x="${round(labelAt(at))}" y="${plot.bottom + 24}">${formatTime(at)}</text>`,
      ),
  ]
}

function bars(chart: TimeChart, { x, y }: Scales): Html[] {
  const { times, series, stepMs } = chart
  const rows = times.map((_, index) => Object.fromEntries(series.map(({ name, values }) => [name, values[index] ?? 0])))
  const layers = stack<Record<string, number>>().keys(series.map(({ name }) => name))(rows)
  const width = Math.max(1, (x(stepMs) - x(0)) * 0.86)
  return layers.flatMap((layer, n) =>
    layer.flatMap(([low, high], index) => {
      if (high <= low) return []
      const { name, style } = series[n] ?? { name: '', style: '' }
      const at = times[index] ?? 0
      const label = `${chart.formatTime(at)} · ${name} ${chart.formatValue(high - low)}`
      return [
        html`<rect class="${style}" x="${round(x(at))}" y="${round(y(high))}" width="${round(width)}" height="${round(y(low) - y(high))}"><title>${label}</title></rect>`,
      ]
    }),
  )
}

function lines({ times, series, stepMs, formatTime, formatValue }: TimeChart, { x, y }: Scales): Html[] {
  const middle = (index: number) => x((times[index] ?? 0) + stepMs / 2)
  const draw = line<number | null>()
    .defined((value) => value !== null)
    .x((_, index) => round(middle(index)))
    .y((value) => round(y(value ?? 0)))
  return series.flatMap(({ name, style, values }) => [
    html`<path class="line ${style}" d="${draw([...values]) ?? ''}"></path>`,
    ...values.flatMap((value, index) =>
      value === null
        ? []
        : [
            html`<circle class="dot ${style}" cx="${round(middle(index))}" cy="${round(y(value))}" r="2"><title>${formatTime(times[index] ?? 0)} · ${name} ${formatValue(value)}</title></circle>`,
          ],
    ),
  ])
}

function shadeOf({ from, to, label, style }: NonNullable<TimeChart['shades']>[number], { x }: Scales): Html {
  const [left, right] = [Math.max(plot.left, x(from)), Math.min(plot.right, x(to))]
  if (right <= left) return nothing
  return html`<rect class="shade ${style}" x="${round(left)}" y="${plot.top}" width="${round(Math.max(2, right - left))}" height="${plot.bottom - plot.top}"><title>${label}</title></rect>`
}

function limitLine({ value, label }: { readonly value: number; readonly label: string }, { y }: Scales): Html {
  return html`<line class="limit" x1="${plot.left}" x2="${plot.right}" y1="${round(y(value))}" y2="${round(y(value))}"></line><text class="end limit" x="${plot.right}" y="${round(y(value) - 4)}">${label}</text>`
}

/** The names of the series with their colours; a colour alone says nothing to some readers. */
export function legend(series: readonly Pick<Series, 'name' | 'style'>[]): Html {
  return html`<ul class="legend">${series.map(({ name, style }) => html`<li><svg viewBox="0 0 12 12" aria-hidden="true"><rect class="${style}" width="12" height="12" rx="2"></rect></svg> ${name}</li>`)}</ul>`
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
