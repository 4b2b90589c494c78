/**
 * Charts as SVG, drawn on the server; the table below each has the same numbers. Places are
 * percentages of the plot, and texts have their size: a chart is as high and as readable on a phone
 * as on a screen.
 */
import { scaleLinear, scaleUtc } from 'd3-scale'
import { line } from 'd3-shape'
import { formatCount, formatSeconds } from '../values/format.ts'
import { attribute, type Html, html, nothing } from '../values/html.ts'
import type { EpochMs, Ms, Seconds } from '../values/time.ts'
import { table } from './table.ts'

type Named = { readonly name: string; readonly style: string }

/** Of the lines and bars, in their order. */
export const seriesStyles = ['first', 'second', 'third', 'fourth'] as const

type Series = Named & {
  readonly values: readonly (number | null)[]
  /**
   * Where each bar leads; null = nowhere. For the mouse: the table has the same links for the
   * keyboard.
   */
  readonly links?: readonly (string | null)[]
}

type Span = {
  readonly from: EpochMs
  readonly to: EpochMs
  readonly style: string
  readonly label?: string
}

type TimeChart = {
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
  /** Behind the values. */
  readonly shades?: readonly Span[]
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

const timeHeight = 240
/** `around`: above and below the rows, as the style sheets have it in their `padding`. */
const heatHeights = { row: 22, around: 44 } as const

type Scales = ReturnType<typeof scalesOf>

export function timeChart(chart: TimeChart): Html {
  const { title, times, series } = chart
  const cellOf = ({ values, links }: Series, index: number) => {
    const value = values[index] ?? null
    const shown = value === null ? '–' : formatValue(chart, value)
    const link = value === 0 ? null : (links?.[index] ?? null)
    return link === null ? shown : html`<a href="${link}">${shown}</a>`
  }
  const numbers = table({
    caption: title,
    columns: [{ title: 'Time' }, ...series.map(({ name }) => ({ title: name, isNumber: true }))],
    rows: times.map((at, index) => [
      timeText(chart, at),
      ...series.map((one) => cellOf(one, index)),
    ]),
    empty: 'There are no numbers yet.',
  })
  const drawn = html`${drawTimeChart(chart)}${legend([...series, ...(chart.legend ?? [])])}`
  return figure(title, drawn, numbers)
}

/**
 * Left out of the order of Tab: a chart may have hundreds, and a table beside it has the same ones.
 */
function linkedShape(shape: Html, label: string, link: string | null = null): Html {
  if (link === null) return shape
  return html`<a href="${link}" ${attribute('tabindex', -1)} aria-label="${label}">${shape}</a>`
}

function formatValue({ unit }: TimeChart, value: number): string {
  return unit === null ? formatSeconds(value) : formatCount(value)
}

function timeText(
  { formatTime, unfinishedFrom = Number.POSITIVE_INFINITY }: TimeChart,
  at: EpochMs,
): string {
  return at < unfinishedFrom ? formatTime(at) : `${formatTime(at)} (so far)`
}

/** A chart, with its numbers for those who want them; null: the page has them already. */
export function figure(
  title: string,
  svg: Html,
  numbers: Html | null,
  above: Html = nothing,
): Html {
  const below = html`<details><summary>As a table</summary><div
    class="scroll">${numbers}</div></details>`
  return html`<figure>${above}<div class="scroll" role="region" ${attribute('tabindex', 0)}
    aria-label="${title}, chart">${svg}</div>
${numbers === null ? nothing : below}</figure>`
}

export function drawTimeChart(chart: TimeChart): Html {
  const { series, shades = [], marks = [], limit = null, unfinishedFrom, to, unit } = chart
  const scales = scalesOf(chart)
  const description = chart.description ?? series.map(({ name }) => name).join(', ')
  const { x, y } = scales
  const isUnfinished = unfinishedFrom !== undefined && unfinishedFrom < to
  const content = html`${shades.map((shade) => spanOf({ ...shade, style: `shade ${shade.style}` }, scales))}${axes(chart, scales)}
${chart.kind === 'lines' ? lines(chart, scales) : bars(chart, scales)}
${isUnfinished ? [spanOf({ from: unfinishedFrom, to, style: 'unfinished' }, scales), text('end', '100%', 0, 'so far', -12)] : nothing}
${marks.map(
  ({ at, label }) => html`<circle class="mark" cx="${percent(x(at))}" cy="100%" r="2.5"
  transform="translate(0 5)"><title>${label}</title></circle>`,
)}
${limit === null ? nothing : [levelLine('limit', y(limit.value)), text('middle limit', '50%', y(limit.value), limit.label, -4)]}`
  return svgOf(
    { ...chart, description },
    unit === null ? 'time durations' : 'time',
    timeHeight,
    content,
  )
}

type Texts = { readonly id: string; readonly title: string; readonly description: string }

function svgOf(
  { id, title, description }: Texts,
  style: string,
  height: number,
  content: Html,
): Html {
  const role = content.html.includes('<a ') ? 'group' : 'img'
  return html`<svg class="chart ${style}" height="${height}" role="${role}"
    aria-labelledby="${id}-title">
<title id="${id}-title">${title}: ${description}</title>
${content}</svg>`
}

function scalesOf({ from, to, series, kind, times, limit, unit }: TimeChart) {
  const totals = times.map((_, index) => {
    const values = series.map(({ values: own }) => own[index] ?? 0)
    return kind === 'lines' ? Math.max(0, ...values) : values.reduce((sum, value) => sum + value, 0)
  })
  const most = unit === null ? mostShown(series) : Math.max(1, limit?.value ?? 0, ...totals)
  const y = scaleLinear([0, most], [100, 0]).nice(4).clamp(true)
  const yTicks = unit === null ? roundDurations(most) : y.ticks(4).filter(Number.isInteger)
  if (unit === null) y.domain([0, yTicks.at(-1) ?? most])
  return { x: scaleUtc([from, to], [0, 100]), y, yTicks, top: y.invert(0) }
}

/**
 * Of durations. A few that are far longer than the others would flatten these: they go beyond the
 * axis, and are marked.
 */
function mostShown(series: readonly Series[]): Seconds {
  const values = series.flatMap((one) => one.values).filter((value) => value !== null)
  const sorted = values.toSorted((a, b) => a - b)
  const [usual = 1, most = 1] = [sorted[Math.floor(sorted.length * 0.9)], sorted.at(-1)]
  return Math.max(1, most > 3 * usual ? 1.2 * usual : most)
}

const minute = 60
const hour = 3600
const day = 86_400
const durationSteps = [
  ...[1, minute].flatMap((unit) => [1, 2, 5, 10, 15, 30].map((count) => count * unit)),
  ...[1, 2, 3, 6, 12].map((hours) => hours * hour),
]

/** Up to five, in whole minutes, hours or days, from 0 to `most` or a little more. */
function roundDurations(most: Seconds): Seconds[] {
  const step =
    durationSteps.find((seconds) => most <= 4 * seconds) ?? Math.ceil(most / 4 / day) * day
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, n) => n * step)
}

function axes(chart: TimeChart, { x, y, yTicks, top }: Scales): Html {
  const { stepMs, formatTime, series } = chart
  const most = Math.max(...series.flatMap(({ values }) => values.map((value) => value ?? 0)))
  const xTicks = chart.labels ?? x.ticks(6).map(Number)
  // A label stands below the middle of its bar, and one that would be cut off is left out.
  const labelAt = (at: EpochMs) => x(at + stepMs / 2)
  const shownTicks = xTicks.filter((at) => labelAt(at) <= 99)
  const isBeyond = chart.kind === 'lines' && most > top
  return html`${yTicks.map((value) => html`${levelLine('grid', y(value))}${text('end', -8, y(value), formatValue(chart, value), 4)}`)}
${text(null, chart.unit === null ? -68 : -40, 0, `${chart.unit ?? 'duration'} by ${chart.timeUnit}`, -12)}
${isBeyond ? text('middle', '50%', 0, `▲ up to ${formatValue(chart, most)}`, -12) : nothing}
<g class="ticks">${shownTicks.map((at) => text('middle', percent(labelAt(at)), 100, formatTime(at), 22))}</g>`
}

function bars(chart: TimeChart, { x, y }: Scales): Html[] {
  const slot = x(chart.stepMs) - x(0)
  return chart.times.flatMap((at, index) => {
    let high = 0
    return chart.series.map(({ name, style, values, links }) => {
      const value = values[index] ?? 0
      if (value <= 0) return nothing
      const bottom = y(high)
      high += value
      const label = `${timeText(chart, at)} · ${name} ${formatValue(chart, value)}`
      const bar = rect(style, [x(at) + 0.07 * slot, y(high), 0.86 * slot, bottom - y(high)], label)
      return linkedShape(bar, label, links?.[index])
    })
  })
}

function lines(chart: TimeChart, { x, y, top }: Scales): Html[] {
  const { times, series, stepMs } = chart
  const middle = (index: number) => x((times[index] ?? 0) + stepMs / 2)
  const draw = line<number | null>()
    .defined((value) => value !== null)
    .x((_, index) => middle(index))
    .y((value) => y(value ?? 0))
  const paths = series.map(
    ({ style, values }) => html`<path class="line ${style}" d="${draw([...values]) ?? ''}"></path>`,
  )
  const dots = series.flatMap(({ name, style, values }) =>
    values.map((value, index) => {
      if (value === null) return nothing
      const label = `${timeText(chart, times[index] ?? 0)} · ${name} ${formatValue(chart, value)}`
      const x = percent(middle(index))
      const title = html`<title>${label}</title>`
      // Beyond the axis it points there.
      if (value > top)
        return html`<svg x="${x}"><path class="dot ${style}"
          d="M-5 0h10l-5 -8z">${title}</path></svg>`
      return html`<circle class="dot ${style}" cx="${x}" cy="${percent(y(value))}"
        r="2">${title}</circle>`
    }),
  )
  return [html`<svg viewBox="0 0 100 100" preserveAspectRatio="none">${paths}</svg>`, ...dots]
}

function spanOf({ from, to, style, label }: Span, { x }: Scales): Html {
  const left = Math.max(0, x(from))
  const right = Math.min(100, x(to))
  if (right <= left) return nothing
  return rect(style, [left, 0, Math.max(0.3, right - left), 100], label)
}

function levelLine(style: string, y: number): Html {
  return html`<line class="${style}" x2="100%" y1="${percent(y)}" y2="${percent(y)}"></line>`
}

/** `x`: in percent, or in pixels. `y`: in percent, and `dy` pixels below. */
function text(
  style: string | null,
  x: string | number,
  y: number,
  content: string,
  dy: number,
): Html {
  return html`<text ${attribute('class', style)} x="${x}" y="${percent(y)}"
    dy="${dy}">${content}</text>`
}

/** In percent of the plot. */
function rect(
  style: string,
  [x, y, width, height]: readonly [x: number, y: number, width: number, height: number],
  label = '',
  opacity: string | null = null,
): Html {
  const title = label === '' ? nothing : html`<title>${label}</title>`
  return html`<rect class="${style}" x="${percent(x)}" y="${percent(y)}" width="${percent(width)}"
    height="${percent(height)}" ${attribute('fill-opacity', opacity)}>${title}</rect>`
}

/** The names of the series with their colours; a colour alone says nothing to some readers. */
export function legend(series: readonly Named[]): Html {
  if (series.length < 2) return nothing
  return html`<ul class="legend">${series.map(
    ({ name, style }) => html`<li><svg viewBox="0 0 12 12"
    aria-hidden="true"><rect class="${style}" width="12" height="12" rx="2"></rect></svg>
    ${name}</li>`,
  )}</ul>`
}

function percent(value: number): string {
  return `${Math.round(value * 100) / 100}%`
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

const shortFormat = new Intl.NumberFormat('en-US', {
  notation: 'compact',
  maximumSignificantDigits: 2,
})

/** 2.5K: a cell has room for four characters. */
function formatShort(value: number): string {
  return value < 1000 ? formatCount(value) : shortFormat.format(value)
}

export function drawHeatMap({
  rows,
  columns,
  columnUnit,
  values,
  links,
  ...texts
}: HeatMap & Texts): Html {
  const most = Math.max(1, ...values.flat().map((value) => value ?? 0))
  const isKnown = !values.flat().includes(null)
  // Even the fullest cell lets its number be read.
  const opacityOf = (value: number) => (0.04 + 0.56 * (value / most)).toFixed(2)
  const width = 100 / columns.length
  const height = 100 / rows.length
  const xOf = (column: number) => percent((column + 0.5) * width)
  const yOf = (row: number) => (row + 0.5) * height
  const cellOf = (value: number | null, row: number, column: number) => {
    const label =
      `${rows[row] ?? ''} ${columns[column] ?? ''}: ` +
      `${value === null ? 'not known' : formatCount(value)}`
    const shape = rect(
      'cell',
      [column * width, row * height, width, height],
      label,
      opacityOf(value ?? 0),
    )
    // Where some are not known, a 0 is shown as such.
    const number = value === null || (value === 0 && isKnown) ? '' : formatShort(value)
    const link = value === 0 ? null : links?.[row]?.[column]
    return html`${linkedShape(shape, label, link)}${text('middle', xOf(column), yOf(row), number, 4)}`
  }
  const content = html`${text(null, -36, 100, columnUnit, 16)}
${columns.map((name, column) => text('middle', xOf(column), 100, name, 16))}
${rows.map((name, row) => html`${text('end', -8, yOf(row), name, 4)}${(values[row] ?? []).map((value, column) => cellOf(value, row, column))}`)}`
  return svgOf(texts, 'heat', rows.length * heatHeights.row + heatHeights.around, content)
}
