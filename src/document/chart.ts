/**
 * Charts as SVG, drawn on the server; the table below each has the same numbers. Places are percentages of the plot, and
 * texts have their size: a chart is as high and as readable on a phone as on a screen.
 */
import { scaleLinear, scaleUtc } from 'd3-scale'
import { line, stack } from 'd3-shape'
import { formatCount, formatSeconds } from '../values/format.ts'
import { attribute, type Html, html, nothing } from '../values/html.ts'
import type { EpochMs, Ms, Seconds } from '../values/time.ts'
import { table } from './table.ts'

type Named = { readonly name: string; readonly style: string }

/** Of the lines and bars, in their order. */
export const seriesStyles = ['first', 'second', 'third', 'fourth'] as const

type Series = Named & {
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
  /** What the shades are. */
  readonly legend?: readonly Named[]
  /** Single times below the values. */
  readonly marks?: readonly { readonly at: EpochMs; readonly label: string }[]
  /** Labels below the plot; otherwise at round times. */
  readonly labels?: readonly EpochMs[]
  readonly formatTime: (at: EpochMs) => string
  /** What each value is of, such as `day`. */
  readonly timeUnit: string
  /** Of the values, such as `calls`. Null: they are durations in seconds. */
  readonly unit: string | null
  /** Values from here on are of a time that is not over yet. */
  readonly unfinishedFrom?: EpochMs
}

/** Beside the plot, as the style sheets have it in their `padding`. */
const heights = { time: 240, heatRow: 22, heatAround: 44 } as const

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
  const drawn = html`${drawTimeChart(chart)}${legend([...series, ...(chart.legend ?? [])])}`
  return figure(title, drawn, numbers)
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
export function figure(title: string, svg: Html, numbers: Html | null, above: Html = nothing): Html {
  const below = html`<details><summary>As a table</summary><div class="scroll">${numbers}</div></details>`
  return html`<figure>${above}<div class="scroll" role="region" ${attribute('tabindex', 0)} aria-label="${title}, chart">${svg}</div>
${numbers === null ? nothing : below}</figure>`
}

export function drawTimeChart(chart: TimeChart): Html {
  const { series, shades = [], marks = [], limit = null, unfinishedFrom, to, unit } = chart
  const scales = scalesOf(chart)
  const description = chart.description ?? series.map(({ name }) => name).join(', ')
  const unfinished =
    unfinishedFrom === undefined || unfinishedFrom >= to
      ? nothing
      : html`${spanOf({ from: unfinishedFrom, to, style: 'unfinished' }, scales)}<text class="end" x="100%" y="-12">so far</text>`
  const content = html`${shades.map((shade) => spanOf({ ...shade, style: `shade ${shade.style}` }, scales))}${axes(chart, scales)}
${chart.kind === 'lines' ? lines(chart, scales) : bars(chart, scales)}${unfinished}
${marks.map(({ at, label }) => html`<circle class="mark" cx="${percent(scales.x(at))}" cy="100%" r="2.5" transform="translate(0 5)"><title>${label}</title></circle>`)}
${limit === null ? nothing : limitLine(limit, scales)}`
  const hasLinks = series.some(({ links }) => links !== undefined)
  const style = unit === null ? 'time durations' : 'time'
  return svgOf({ ...chart, description, hasLinks }, style, heights.time, content)
}

type Texts = { readonly id: string; readonly title: string; readonly description: string; readonly hasLinks?: boolean }

function svgOf(
  { id, title, description, hasLinks = false }: Texts,
  style: string,
  height: number,
  content: Html,
): Html {
  return html`<svg class="chart ${style}" height="${height}" role="${hasLinks ? 'group' : 'img'}" aria-labelledby="${id}-title">
<title id="${id}-title">${title}: ${description}</title>
${content}</svg>`
}

function scalesOf({ from, to, series, kind, times, limit, unit }: TimeChart) {
  const totals = times.map((_, index) => {
    const values = series.map(({ values: own }) => own[index] ?? 0)
    return kind === 'lines' ? Math.max(0, ...values) : values.reduce((sum, value) => sum + value, 0)
  })
  const most = unit === null ? mostShown(series) : Math.max(1, limit?.value ?? 0, ...totals)
  const nice = scaleLinear([0, most], [100, 0]).nice(4)
  const yTicks = unit === null ? roundDurations(most) : nice.ticks(4).filter(Number.isInteger)
  const y = unit === null ? nice.domain([0, yTicks.at(-1) ?? most]) : nice
  const x = scaleUtc([from, to], [0, 100])
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
  const beyond = html`<text class="middle" x="50%" y="-12">▲ up to ${formatValue(chart, most)}</text>`
  const xTicks = chart.labels ?? scaleUtc([from, to], [0, 100]).ticks(6).map(Number)
  // A label stands below the middle of its bar, and one that would be cut off is left out.
  const labelAt = (at: EpochMs) => x(at + stepMs / 2)
  return [
    ...yTicks.map(
      (value) =>
        html`<line class="grid" x2="100%" y1="${percent(y(value))}" y2="${percent(y(value))}"></line><text class="end" x="-8" y="${percent(y(value))}" dy="4">${formatValue(chart, value)}</text>`,
    ),
    html`<text x="-40" y="-12">${chart.unit ?? 'duration'} by ${chart.timeUnit}</text>${chart.kind === 'lines' && most > top ? beyond : nothing}`,
    html`<g class="ticks">${xTicks
      .filter((at) => labelAt(at) <= 99)
      .map(
        (at) => html`<text class="middle" x="${percent(labelAt(at))}" y="100%" dy="22">${formatTime(at)}</text>`,
      )}</g>`,
  ]
}

function bars(chart: TimeChart, { x, y }: Scales): Html[] {
  const { times, series, stepMs } = chart
  const rows = times.map((_, index) => Object.fromEntries(series.map(({ name, values }) => [name, values[index] ?? 0])))
  const layers = stack<Record<string, number>>().keys(series.map(({ name }) => name))(rows)
  const slot = x(stepMs) - x(0)
  return layers.flatMap((layer, n) =>
    layer.flatMap(([low, high], index) => {
      if (high <= low) return []
      const { name, style, links } = series[n] ?? { name: '', style: '' }
      const at = times[index] ?? 0
      const label = `${timeText(chart, at)} · ${name} ${formatValue(chart, high - low)}`
      const bar = html`<rect class="${style}" x="${percent(x(at) + 0.07 * slot)}" y="${percent(y(high))}" width="${percent(0.86 * slot)}" height="${percent(y(low) - y(high))}"><title>${label}</title></rect>`
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
  const paths = series.map(
    ({ style, values }) => html`<path class="line ${style}" d="${draw([...values]) ?? ''}"></path>`,
  )
  const dots = series.flatMap(({ name, style, values }) =>
    values.map((value, index) => {
      if (value === null) return nothing
      const label = `${timeText(chart, times[index] ?? 0)} · ${name} ${formatValue(chart, value)}`
      return dot(style, percent(middle(index)), value > top ? null : percent(y(value)), label)
    }),
  )
  return [html`<svg viewBox="0 0 100 100" preserveAspectRatio="none">${paths}</svg>`, ...dots]
}

/** `y` null: the value is beyond the axis. */
function dot(style: string, x: string, y: string | null, label: string): Html {
  const title = html`<title>${label}</title>`
  if (y === null) return html`<svg x="${x}"><path class="dot ${style}" d="M-5 0h10l-5 -8z">${title}</path></svg>`
  return html`<circle class="dot ${style}" cx="${x}" cy="${y}" r="2">${title}</circle>`
}

type Span = { readonly from: EpochMs; readonly to: EpochMs; readonly style: string; readonly label?: string }

function spanOf({ from, to, style, label }: Span, { x }: Scales): Html {
  const [left, right] = [Math.max(0, x(from)), Math.min(100, x(to))]
  if (right <= left) return nothing
  const title = label === undefined ? nothing : html`<title>${label}</title>`
  return html`<rect class="${style}" x="${percent(left)}" width="${percent(Math.max(0.3, right - left))}" height="100%">${title}</rect>`
}

function limitLine({ value, label }: { readonly value: number; readonly label: string }, { y }: Scales): Html {
  return html`<line class="limit" x2="100%" y1="${percent(y(value))}" y2="${percent(y(value))}"></line><text class="middle limit" x="50%" y="${percent(y(value))}" dy="-4">${label}</text>`
}

/** The names of the series with their colours; a colour alone says nothing to some readers. */
export function legend(series: readonly Named[]): Html {
  if (series.length < 2) return nothing
  return html`<ul class="legend">${series.map(({ name, style }) => html`<li><svg viewBox="0 0 12 12" aria-hidden="true"><rect class="${style}" width="12" height="12" rx="2"></rect></svg> ${name}</li>`)}</ul>`
}

function percent(value: number): string {
  return `${round(value)}%`
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}

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
  const [width, height] = [100 / columns.length, 100 / rows.length]
  const cells = [
    html`<text x="-36" y="100%" dy="16">${columnUnit}</text>`,
    ...columns.map(
      (name, column) =>
        html`<text class="middle" x="${percent((column + 0.5) * width)}" y="100%" dy="16">${name}</text>`,
    ),
    ...rows.flatMap((name, row) => [
      html`<text class="end" x="-8" y="${percent((row + 0.5) * height)}" dy="4">${name}</text>`,
      ...(values[row] ?? []).map((value, column) => {
        const label = `${name} ${columns[column] ?? ''}: ${value === null ? 'not known' : formatCount(value)}`
        const number = value === 0 || value === null ? '' : formatShort(value)
        const shape = html`<rect class="cell" x="${percent(column * width)}" y="${percent(row * height)}" width="${percent(width)}" height="${percent(height)}" fill-opacity="${opacityOf(value ?? 0)}"><title>${label}</title></rect>`
        const link = linkedShape(shape, label, value === 0 ? null : links?.[row]?.[column])
        return html`${link}<text class="middle" x="${percent((column + 0.5) * width)}" y="${percent((row + 0.5) * height)}" dy="4">${number}</text>\n`
      }),
    ]),
  ]
  const isLinked = { ...texts, hasLinks: links !== undefined }
  return svgOf(isLinked, 'heat', rows.length * heights.heatRow + heights.heatAround, html`${cells}`)
}
