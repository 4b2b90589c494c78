/** Charts as SVG, drawn on the server; the table below each has the same numbers. */
import { scaleLinear, scaleUtc } from 'd3-scale'
import { line, stack } from 'd3-shape'
import { formatCount, formatSeconds } from '../values/format.ts'
import { attribute, type Html, html, nothing } from '../values/html.ts'
import type { EpochMs, Ms, Seconds } from '../values/time.ts'
import { table } from './table.ts'

type Series = {
  readonly name: string
  readonly style: string
  readonly values: readonly (number | null)[]
  /** Where each bar leads; null = nowhere. For the mouse: the table has the same links for the keyboard. */
  readonly links?: readonly (string | null)[]
}

export type TimeChart = {
  /** Unique in the page. */
  readonly id: string
  readonly title: string
  /** Read aloud after the title. */
  readonly description?: string
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
  /** Labels below the plot; otherwise at round times. */
  readonly labels?: readonly EpochMs[]
  /** Each line has its name beside its first value: a document has no legend. */
  readonly isNamed?: boolean
  readonly formatTime: (at: EpochMs) => string
  /** Beside the time axis, such as `day`. */
  readonly timeUnit: string
  /** Above the other one, such as `calls`. Null: values are durations in seconds. */
  readonly unit: string | null
  /** Values from here on are of a time that is not over yet. */
  readonly unfinishedFrom?: EpochMs
}

const size = { width: 720, height: 222 } as const
const plot = { left: 52, right: 712, top: 26, bottom: 190 } as const

type Scales = ReturnType<typeof scalesOf>

export function timeChart(chart: TimeChart): Html {
  const { title, times, series } = chart
  const cellOf = ({ values, links }: Series, index: number) => {
    const value = values[index] ?? null
    const text = value === null ? '–' : formatValue(chart, value)
    return linked(text, value === 0 ? null : links?.[index])
  }
  const numbers = table({
    caption: title,
    columns: [{ title: 'Time' }, ...series.map(({ name }) => ({ title: name, isNumber: true }))],
    rows: times.map((at, index) => [timeText(chart, at), ...series.map((one) => cellOf(one, index))]),
    empty: 'There are no numbers yet.',
  })
  return figure(title, drawTimeChart(chart), numbers)
}

function linked(content: string, link: string | null = null): Html | string {
  return link === null ? content : html`<a href="${link}">${content}</a>`
}

/** Left out of the order of Tab: a chart may have hundreds, and a table beside it has the same ones. */
function linkedShape(shape: Html, label: string, link: string | null = null): Html {
  if (link === null) return shape
  return html`<a href="${link}" ${attribute('tabindex', -1)} aria-label="${label}">${shape}</a>`
}

function formatValue({ unit }: TimeChart, value: number): string {
  return unit === null ? formatSeconds(value) : formatCount(value)
}

function timeText({ formatTime, unfinishedFrom = Number.POSITIVE_INFINITY }: TimeChart, at: EpochMs): string {
  return at < unfinishedFrom ? formatTime(at) : `${formatTime(at)} (so far)`
}

/** A chart, with its numbers for those who want them; null: the page has them already. */
export function figure(title: string, svg: Html, numbers: Html | null, caption: Html = nothing): Html {
  const below = html`<details><summary>As a table</summary><div class="scroll">${numbers}</div></details>`
  return html`<figure>${caption}<div class="scroll" role="region" ${attribute('tabindex', 0)} aria-label="${title}, chart">${svg}</div>
${numbers === null ? nothing : below}</figure>`
}

export function drawTimeChart(chart: TimeChart): Html {
  const { series, shades = [], marks = [], limit = null, unfinishedFrom, to } = chart
  const scales = scalesOf(chart)
  const description = chart.description ?? series.map(({ name }) => name).join(', ')
  const unfinished =
    unfinishedFrom === undefined || unfinishedFrom >= to
      ? nothing
      : html`${shadeOf({ from: unfinishedFrom, to, label: 'not over yet', style: 'unfinished' }, scales)}<text class="end" x="${plot.right}" y="12">so far</text>`
  const content = html`${unfinished}${shades.map((shade) => shadeOf(shade, scales))}${axes(chart, scales)}
${chart.kind === 'lines' ? lines(chart, scales) : bars(chart, scales)}
${marks.map(({ at, label }) => html`<circle class="mark" cx="${round(scales.x(at))}" cy="${plot.bottom + 5}" r="2.5"><title>${label}</title></circle>`)}
${limit === null ? nothing : limitLine(limit, scales)}`
  const hasLinks = series.some(({ links }) => links !== undefined)
  return svgOf({ ...chart, description, hasLinks }, size.height, content)
}

type Texts = { readonly id: string; readonly title: string; readonly description: string; readonly hasLinks?: boolean }

function svgOf({ id, title, description, hasLinks = false }: Texts, height: number, content: Html): Html {
  return html`<svg class="chart" role="${hasLinks ? 'group' : 'img'}" aria-labelledby="${id}-title" viewBox="0 0 ${size.width} ${height}">
<title id="${id}-title">${title}: ${description}</title>
${content}</svg>`
}

function scalesOf({ from, to, series, kind, times, limit, unit }: TimeChart) {
  const totals = times.map((_, index) => {
    const values = series.map(({ values: own }) => own[index] ?? 0)
    return kind === 'lines' ? Math.max(0, ...values) : values.reduce((sum, value) => sum + value, 0)
  })
  const most = unit === null ? mostShown(series) : Math.max(1, limit?.value ?? 0, ...totals)
  const nice = scaleLinear([0, most], [plot.bottom, plot.top]).nice(4)
  const yTicks = unit === null ? roundDurations(most) : nice.ticks(4).filter(Number.isInteger)
  const y = unit === null ? nice.domain([0, yTicks.at(-1) ?? most]) : nice
  const x = scaleUtc([from, to], [plot.left, plot.right])
  y.clamp(true)
  return {
    x: (at: EpochMs) => Number(x(at)),
    y: (value: number) => Number(y(value)),
    yTicks,
    top: y.domain()[1] ?? most,
  }
}

/** Of durations. A few that are far longer than the others would flatten these: they go beyond the axis, and are marked. */
function mostShown(series: readonly Series[]): Seconds {
  const values = series.flatMap((one) => one.values).filter((value) => value !== null)
  const sorted = values.toSorted((a, b) => a - b)
  const [usual = 1, most = 1] = [sorted[Math.floor(sorted.length * 0.9)], sorted.at(-1)]
  return Math.max(1, most > 3 * usual ? 1.2 * usual : most)
}

const [minute, hour, day] = [60, 3600, 86_400]
const durationSteps = [
  ...[1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * minute),
  ...[1, 2, 3, 6, 12].map((hours) => hours * hour),
]

/** Up to five, in whole minutes, hours or days, from 0 to `most` or a little more. */
function roundDurations(most: Seconds): Seconds[] {
  const step = durationSteps.find((seconds) => most <= 4 * seconds) ?? Math.ceil(most / 4 / day) * day
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, n) => n * step)
}

function axes(chart: TimeChart, { x, y, yTicks, top }: Scales): Html[] {
  const { from, to, stepMs, formatTime, series } = chart
  const most = Math.max(...series.flatMap(({ values }) => values.map((value) => value ?? 0)))
  const beyond = html`<text class="middle" x="${(plot.left + plot.right) / 2}" y="12">▲ beyond the axis, up to ${formatValue(chart, most)}</text>`
  const xTicks = chart.labels ?? scaleUtc([from, to], [plot.left, plot.right]).ticks(6).map(Number)
  // A label stands below the middle of its bar, and one that would be cut off is left out.
  const labelAt = (at: EpochMs) => x(at + stepMs / 2)
  return [
    ...yTicks.map(
      (value) =>
        html`<line class="grid" x1="${plot.left}" x2="${plot.right}" y1="${round(y(value))}" y2="${round(y(value))}"></line><text class="end" x="${plot.left - 6}" y="${round(y(value) + 4)}">${formatValue(chart, value)}</text>`,
    ),
    html`<text x="4" y="12">${chart.unit ?? 'duration'}</text>${chart.kind === 'lines' && most > top ? beyond : nothing}<text x="4" y="${plot.bottom + 24}">${chart.timeUnit}</text>`,
    ...xTicks
      .filter((at) => labelAt(at) < plot.right - 12 && (chart.labels !== undefined || labelAt(at) > plot.left + 16))
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
      const { name, style, links } = series[n] ?? { name: '', style: '' }
      const at = times[index] ?? 0
      const label = `${timeText(chart, at)} · ${name} ${formatValue(chart, high - low)}`
      const bar = html`<rect class="${style}" x="${round(x(at))}" y="${round(y(high))}" width="${round(width)}" height="${round(y(low) - y(high))}"><title>${label}</title></rect>`
      return [linkedShape(bar, label, links?.[index])]
    }),
  )
}

function lines(chart: TimeChart, { x, y, top }: Scales): Html[] {
  const { times, series, stepMs } = chart
  const middle = (index: number) => x((times[index] ?? 0) + stepMs / 2)
  const draw = line<number | null>()
    .defined((value) => value !== null)
    .x((_, index) => round(middle(index)))
    .y((value) => round(y(value ?? 0)))
  const nameOfLine = (name: string, values: Series['values']) => {
    const first = values.findIndex((value) => value !== null)
    if (first === -1) return nothing
    return html`<text x="${round(middle(first) + 6)}" y="${round(Math.max(plot.top, y(values[first] ?? 0) - 6))}">${name}</text>`
  }
  return series.flatMap(({ name, style, values }) => [
    html`<path class="line ${style}" d="${draw([...values]) ?? ''}"></path>`,
    ...values.flatMap((value, index) =>
      value === null
        ? []
        : [
            dot(
              style,
              round(middle(index)),
              value > top ? null : round(y(value)),
              `${timeText(chart, times[index] ?? 0)} · ${name} ${formatValue(chart, value)}`,
            ),
          ],
    ),
    ...(chart.isNamed === true ? [nameOfLine(name, values)] : []),
  ])
}

/** `y` null: the value is beyond the axis. */
function dot(style: string, x: number, y: number | null, label: string): Html {
  const title = html`<title>${label}</title>`
  if (y === null) return html`<path class="dot ${style}" d="M${round(x - 5)} ${plot.top}h10l-5 -8z">${title}</path>`
  return html`<circle class="dot ${style}" cx="${x}" cy="${y}" r="2">${title}</circle>`
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

const cell = { width: 27.5, height: 20, top: 18 } as const

/** `values`: by row, then by column. */
export type HeatMap = {
  readonly rows: readonly string[]
  readonly columns: readonly string[]
  readonly columnUnit: string
  /** Null: not known. */
  readonly values: readonly (readonly (number | null)[])[]
  /** Where the cells lead; null = nowhere. */
  readonly links?: readonly (readonly (string | null)[])[]
}

const shortFormat = new Intl.NumberFormat('en-US', { notation: 'compact', maximumSignificantDigits: 2 })

/** 2.5K: a cell has room for four characters. */
function formatShort(value: number): string {
  return value < 1000 ? formatCount(value) : shortFormat.format(value)
}

export function drawHeatMap({ rows, columns, columnUnit, values, links, ...texts }: HeatMap & Texts): Html {
  const most = Math.max(1, ...values.flat().map((value) => value ?? 0))
  // Even the fullest cell lets its number be read.
  const opacityOf = (value: number) => Math.round((0.04 + 0.56 * (value / most)) * 100) / 100
  const x = (index: number) => round(plot.left + index * cell.width)
  const y = (index: number) => cell.top + index * cell.height
  const cells = [
    html`<text x="4" y="12">${columnUnit}</text>`,
    ...columns.map(
      (name, index) => html`<text class="middle" x="${round(x(index) + cell.width / 2)}" y="12">${name}</text>`,
    ),
    ...rows.flatMap((name, row) => [
      html`<text class="end" x="${plot.left - 6}" y="${y(row) + 14}">${name}</text>`,
      ...(values[row] ?? []).map((value, column) => {
        const label = `${name} ${columns[column] ?? ''}: ${value === null ? 'not known' : formatCount(value)}`
        const number = value === 0 || value === null ? '' : formatShort(value)
        const shape = html`<rect class="cell" x="${x(column)}" y="${y(row)}" width="${cell.width - 1}" height="${cell.height - 1}" fill-opacity="${opacityOf(value ?? 0)}"><title>${label}</title></rect>
<text class="middle" x="${round(x(column) + cell.width / 2)}" y="${y(row) + 14}">${number}</text>`
        return linkedShape(shape, label, value === 0 ? null : links?.[row]?.[column])
      }),
    ]),
  ]
  return svgOf({ ...texts, hasLinks: links !== undefined }, cell.top + rows.length * cell.height + 6, html`${cells}`)
}
