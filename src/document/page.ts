/** A page as data, and as one HTML file; `markdown.ts` has it as Markdown. Texts are not escaped yet. */
import { formatCount } from '../values/format.ts'
import { type Html, html } from '../values/html.ts'
import { drawHeatMap, drawTimeChart, figure, type HeatMap, type TimeChart } from './chart.ts'
import { documentFoot, documentHead } from './document-frame.ts'
import { type Column, table } from './table.ts'

export type Page = { readonly title: string; readonly parts: readonly PagePart[] }

/** One project. */
export type PagePart = {
  readonly title: string
  /** Below the title. */
  readonly notes: readonly string[]
  readonly sections: readonly Section[]
}

export type Section = { readonly title: string; readonly blocks: readonly Block[] }

export type Block =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'list'; readonly items: readonly string[] }
  | { readonly kind: 'table'; readonly table: Table }
  /** The table has the numbers of the chart. */
  | { readonly kind: 'chart'; readonly chart: Chart; readonly table: Table }

export type Table = {
  readonly caption: string
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly string[])[]
}

type ChartTexts = { readonly title: string; readonly description: string }

/** `values` of a line: one for each label; null = a gap. */
export type Chart =
  | (ChartTexts & {
      readonly kind: 'bars'
      readonly name: string
      readonly bars: readonly { readonly label: string; readonly value: number }[]
    })
  | (ChartTexts & {
      readonly kind: 'lines'
      readonly labels: readonly string[]
      readonly lines: readonly { readonly name: string; readonly values: readonly (number | null)[] }[]
    })
  | (ChartTexts & { readonly kind: 'heat map' } & HeatMap)

/** `parts`: sentences, tables, and other blocks as they are. */
export function section(title: string, ...parts: readonly (string | Table | Block)[]): Section {
  const blocks = parts.map((part): Block => {
    if (typeof part === 'string') return { kind: 'text', text: part }
    return 'kind' in part ? part : { kind: 'table', table: part }
  })
  return { title, blocks }
}

/** Columns of texts, then those of numbers. */
export function columns(texts: readonly string[], numbers: readonly string[]): Column[] {
  return [...texts.map((title) => ({ title })), ...numbers.map((title) => ({ title, isNumber: true }))]
}

export function renderHtml({ title, parts }: Page): string {
  return html`${documentHead(title)}${parts.map(renderPart)}`.html + documentFoot
}

function renderPart({ title, notes, sections }: PagePart, index: number): Html {
  return html`<article>
<h1>${title}</h1>
${notes.map((note) => html`<p class="notes">${note}</p>\n`)}${sections.map((section, n) => renderSection(section, `chart-${index}-${n}`))}</article>
`
}

function renderSection({ title, blocks }: Section, id: string): Html {
  return html`<section>
<h2>${title}</h2>
${blocks.map((block, index) => renderBlock(block, `${id}-${index}`))}</section>
`
}

function renderBlock(block: Block, id: string): Html {
  switch (block.kind) {
    case 'text':
      return html`<p>${block.text}</p>\n`
    case 'list':
      return html`<ul>${block.items.map((item) => html`<li>${item}</li>`)}</ul>\n`
    case 'table':
      return html`<div class="scroll">${tableOf(block.table)}</div>\n`
    case 'chart': {
      const caption = html`<figcaption>${block.chart.title}</figcaption>\n`
      return html`${figure(block.chart.title, renderChart(block.chart, id), tableOf(block.table), caption)}\n`
    }
  }
}

/** Foreign texts, each isolated so that its direction cannot turn what stands around it. */
function tableOf({ rows, ...rest }: Table): Html {
  return table({ ...rest, rows: rows.map((row) => row.map((cell) => html`<bdi>${cell}</bdi>`)) }, 'lines')
}

/** `id`: unique in the page. */
export function renderChart(chart: Chart, id: string): Html {
  switch (chart.kind) {
    case 'heat map':
      return drawHeatMap({ ...chart, id })
    case 'bars': {
      const series = [{ name: chart.name, style: 'bar', values: chart.bars.map(({ value }) => value) }]
      const labels = chart.bars.map(({ label }) => label)
      return overLabels({ ...chart, id, kind: 'stacked bars', series }, labels)
    }
    case 'lines': {
      const series = chart.lines.map((line, n) => ({ ...line, style: `line-${n}` }))
      return overLabels({ ...chart, id, kind: 'lines', series }, chart.labels)
    }
  }
}

const maxLabels = 9

type Drawing = Required<Pick<TimeChart, 'id' | 'title' | 'description' | 'kind' | 'series'>>

/** Each label takes one step in place of a time. */
function overLabels(drawing: Drawing, labels: readonly string[]): Html {
  const times = labels.map((_, index) => index)
  const every = Math.max(1, Math.ceil(labels.length / maxLabels))
  return drawTimeChart({
    ...drawing,
    ...{ times, from: 0, to: Math.max(1, labels.length), stepMs: 1, isNamed: true },
    labels: times.filter((index) => index % every === 0),
    formatTime: (index) => labels[index] ?? '',
    formatValue: formatCount,
  })
}
