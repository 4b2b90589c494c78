/** Charts as SVG: pure functions of their data. Titles and descriptions are read aloud; the table beside has the numbers. */
import { formatCount } from '../../core/format.ts'
import { type Html, html } from '../../core/html/html.ts'
import type { BarChart, Chart, HeatMap, LineChart } from '../page.ts'
import { chartSize, columnsOf, countScale, labelStep, plot, round, type Scale } from './scale.ts'

/** `id`: unique in the page. */
export function renderChart(chart: Chart, id: string): Html {
  switch (chart.kind) {
    case 'bars':
      return frame(chart, id, chartSize.height, renderBars(chart))
    case 'lines':
      return frame(chart, id, chartSize.height, renderLines(chart))
    case 'heat map':
      return frame(chart, id, heatMapHeight(chart), renderHeatMap(chart))
  }
}

function frame({ title, description }: Chart, id: string, height: number, content: readonly Html[]): Html {
  return html`<svg role="img" aria-labelledby="${id}-title ${id}-description" viewBox="0 0 ${chartSize.width} ${height}">
<title id="${id}-title">${title}</title><desc id="${id}-description">${description}</desc>
${content}</svg>`
}

function renderBars({ bars }: BarChart): Html[] {
  const scale = countScale(bars.map(({ value }) => value))
  const columns = columnsOf(bars.length)
  const gap = round(columns.width * 0.15)
  return [
    ...axis(scale),
    ...bars.map(
      ({ label, value }, index) =>
        html`<rect class="bar" x="${round(columns.x(index) + gap)}" y="${scale.y(value)}" width="${round(columns.width - 2 * gap)}" height="${round(plot.bottom - scale.y(value))}"><title>${label}: ${formatCount(value)}</title></rect>`,
    ),
    ...labels(bars.map(({ label }) => label)),
  ]
}

/** Of more points, a dot for each would hide the line. */
const maxDots = 31

function renderLines({ labels: names, lines }: LineChart): Html[] {
  const scale = countScale(lines.flatMap(({ values }) => values.filter((value) => value !== null)))
  const columns = columnsOf(names.length)
  const x = (index: number) => round(columns.x(index) + columns.width / 2)
  const dotOf = (name: string, style: string, [at, value]: Point) =>
    html`<circle class="dot ${style}" cx="${x(at)}" cy="${scale.y(value)}" r="3"><title>${names[at] ?? ''}, ${name}: ${formatCount(value)}</title></circle>`
  const renderLine = ({ name, values }: LineChart['lines'][number], index: number): Html[] => {
    const style = `line-${index}`
    const runs = runsOf(values)
    const dots = runs.filter((run) => names.length <= maxDots || run.length === 1).flat()
    const pointsOf = (run: readonly Point[]) => run.map(([at, value]) => `${x(at)},${scale.y(value)}`).join(' ')
    return [
      ...runs.map((run) => html`<polyline class="line ${style}" points="${pointsOf(run)}"/>`),
      ...dots.map((point) => dotOf(name, style, point)),
      ...nameOfLine(name, runs[0]?.[0], x, scale),
    ]
  }
  return [...axis(scale), ...lines.flatMap(renderLine), ...labels(names)]
}

/** A known value, and its place. */
type Point = readonly [at: number, value: number]

/** Consecutive known values: a line must not cross a gap. */
function runsOf(values: readonly (number | null)[]): Point[][] {
  const runs: Point[][] = []
  let isOpen = false
  for (const [index, value] of values.entries()) {
    if (value !== null && isOpen) runs.at(-1)?.push([index, value])
    else if (value !== null) runs.push([[index, value]])
    isOpen = value !== null
  }
  return runs
}

/** Beside its first known value: a colour alone would not say which line is which. */
function nameOfLine(name: string, first: Point | undefined, x: (index: number) => number, scale: Scale): Html[] {
  if (first === undefined) return []
  return [html`<text x="${x(first[0]) + 6}" y="${Math.max(plot.top, scale.y(first[1]) - 6)}">${name}</text>`]
}

function axis({ ticks, y }: Scale): Html[] {
  return ticks.map(
    (tick) =>
      html`<line class="grid" x1="${plot.left}" x2="${plot.right}" y1="${y(tick)}" y2="${y(tick)}"/><text class="end" x="${plot.left - 6}" y="${y(tick) + 4}">${formatCount(tick)}</text>`,
  )
}

function labels(names: readonly string[]): Html[] {
  const columns = columnsOf(names.length)
  const step = labelStep(names.length)
  return names.flatMap((name, index) =>
    index % step === 0
      ? [
          html`<text class="middle" x="${round(columns.x(index) + columns.width / 2)}" y="${plot.bottom + 18}">${name}</text>`,
        ]
      : [],
  )
}

const cell = { width: 27.5, height: 20, top: 18 } as const

function heatMapHeight({ rows }: HeatMap): number {
  return cell.top + rows.length * cell.height + 6
}

function renderHeatMap({ rows, columns, values }: HeatMap): Html[] {
  const most = Math.max(1, ...values.flat())
  const x = (index: number) => round(plot.left + index * cell.width)
  const y = (index: number) => cell.top + index * cell.height
  return [
    ...columns.map(
      (name, index) => html`<text class="middle" x="${round(x(index) + cell.width / 2)}" y="12">${name}</text>`,
    ),
    ...rows.flatMap((name, row) => [
      html`<text class="end" x="${plot.left - 6}" y="${y(row) + 14}">${name}</text>`,
      ...(values[row] ?? []).flatMap((value, column) => [
        html`<rect class="cell" x="${x(column)}" y="${y(row)}" width="${cell.width - 1}" height="${cell.height - 1}" fill-opacity="${heatOf(value, most)}"><title>${name} ${columns[column] ?? ''}: ${formatCount(value)}</title></rect>`,
        ...(value === 0
          ? []
          : [
              html`<text class="middle" x="${round(x(column) + cell.width / 2)}" y="${y(row) + 14}">${formatShort(value)}</text>`,
            ]),
      ]),
    ]),
  ]
}

/** Even the fullest cell lets its number be read. */
function heatOf(value: number, most: number): number {
  const [faintest, fullest] = [0.04, 0.6]
  return Math.round((faintest + (fullest - faintest) * (value / most)) * 100) / 100
}

const shortFormat = new Intl.NumberFormat('en-US', { notation: 'compact', maximumSignificantDigits: 2 })

/** 2.5K: a cell has room for four characters. */
function formatShort(value: number): string {
  return value < 1000 ? formatCount(value) : shortFormat.format(value)
}
