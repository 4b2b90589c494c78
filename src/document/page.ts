/** A page as data, as one HTML file, and as Markdown. Texts are not escaped yet. */
import { toPrintable } from '../values/format.ts'
import { attribute, type Html, html, nothing } from '../values/html.ts'
import { drawHeatMap, drawTimeChart, figure, type HeatMap, legend, seriesStyles } from './chart.ts'
import { documentFoot, documentHead } from './document-frame.ts'
import { type Column, type TableLayout, table } from './table.ts'

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

/** `values` of a series: one for each label; null = a gap. */
export type Chart = { readonly title: string; readonly description: string } & (
  | {
      readonly kind: 'bars' | 'lines'
      readonly labels: readonly string[]
      readonly labelUnit: string
      /** Of the values. */
      readonly unit: string
      /** The first label whose time is not over yet. */
      readonly unfinishedFrom?: number
      readonly series: readonly {
        readonly name: string
        readonly values: readonly (number | null)[]
      }[]
    }
  | ({ readonly kind: 'heat map' } & HeatMap)
)

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
  return [
    ...texts.map((title) => ({ title })),
    ...numbers.map((title) => ({ title, isNumber: true })),
  ]
}

export function renderHtml({ title, parts }: Page): string {
  return html`${documentHead(title)}${parts.map(renderPart)}`.html + documentFoot
}

function renderPart(part: PagePart, index: number): Html {
  return html`<article>
<h1>${part.title}</h1>
${renderSections(part, 'lines', `chart-${index}`)}</article>
`
}

/** What is below the title. `id`: unique in the page. */
export function renderSections(
  { notes, sections }: PagePart,
  layout: TableLayout,
  id = 'chart',
): Html {
  const noted = notes.map((note) => html`<p class="notes">${note}</p>\n`)
  return html`${noted}${sections.map((section, n) => renderSection(section, layout, `${id}-${n}`))}`
}

function renderSection({ title, blocks }: Section, layout: TableLayout, id: string): Html {
  return html`<section>
<h2>${title}</h2>
${blocks.map((block, index) => renderBlock(block, layout, `${id}-${index}`))}</section>
`
}

function renderBlock(block: Block, layout: TableLayout, id: string): Html {
  switch (block.kind) {
    case 'text':
      return html`<p>${block.text}</p>\n`
    case 'list':
      return html`<ul>${block.items.map((item) => html`<li>${item}</li>`)}</ul>\n`
    case 'table':
      return html`<div class="scroll" role="region" ${attribute('tabindex', 0)}
        aria-label="${block.table.caption}">${tableOf(block.table, layout)}</div>\n`
    case 'chart': {
      const { chart } = block
      const named = chart.kind === 'heat map' ? nothing : legend(chart.series.map(styled))
      const caption = html`<figcaption>${chart.title}</figcaption>`
      return html`${figure(chart.title, html`${renderChart(chart, id)}${named}`, tableOf(block.table, layout), caption)}\n`
    }
  }
}

/**
 * Foreign texts, each isolated so that its direction cannot turn what stands around it. On a phone,
 * `+1 h 2 min (+4 %)` may be three lines, and words in place of a number as many as they need.
 */
function tableOf({ columns, rows, ...rest }: Table, layout: TableLayout): Html {
  const partsOf = (cell: string, n: number) =>
    columns[n]?.isNumber ? cell.split(/^\p{L}/u.test(cell) ? ' ' : / (?=[(\d])/) : [cell]
  const cells = rows.map((row) =>
    row.map((cell, n) => html`${partsOf(cell, n).map((part) => html`<bdi>${part}</bdi> `)}`),
  )
  return table({ ...rest, columns, rows: cells }, layout)
}

const maxLabels = 8

const styled = <S>(series: S, n: number) => ({ ...series, style: seriesStyles[n] ?? '' })

/** `id`: unique in the page. Each label takes one step in place of a time. */
export function renderChart(chart: Chart, id: string): Html {
  if (chart.kind === 'heat map') return drawHeatMap({ ...chart, id })
  const { title, description, kind, labels, labelUnit, unit, unfinishedFrom, series } = chart
  const times = labels.map((_, index) => index)
  const every = Math.max(1, Math.ceil(labels.length / maxLabels))
  return drawTimeChart({
    id,
    title,
    description,
    kind: kind === 'bars' ? 'stacked bars' : kind,
    series: series.map(styled),
    times,
    from: 0,
    to: Math.max(1, labels.length),
    stepMs: 1,
    labels: times.filter((index) => index % every === 0),
    unit,
    timeUnit: labelUnit,
    ...(unfinishedFrom === undefined ? {} : { unfinishedFrom }),
    formatTime: (index) => labels[index] ?? '',
  })
}

/** How a page is written in lines. */
type LineStyle = {
  readonly toText: (text: string) => string
  readonly lineBreak: string
  readonly strong: string
}

const plainStyle: LineStyle = { toText: toPrintable, lineBreak: '\n', strong: '' }
const markdownStyle: LineStyle = { toText: escapeMarkdown, lineBreak: '\\\n', strong: '**' }

/** Charts appear as their tables. */
export const renderMarkdown = (page: Page): string => renderLines(page, markdownStyle)

/** The same to read on a terminal: nothing is escaped. */
export const renderPlainText = (page: Page): string => renderLines(page, plainStyle)

function renderLines({ title, parts }: Page, style: LineStyle): string {
  const body = parts.flatMap((part) => partLines(part, parts.length > 1, style))
  // A single part says what the page is about.
  const heading = parts.length > 1 ? [`# ${style.toText(title)}`] : []
  return `${[...heading, ...body].join('\n\n')}\n`
}

function partLines(
  { title, notes, sections }: PagePart,
  isOneOfSeveral: boolean,
  style: LineStyle,
): string[] {
  const { toText, lineBreak } = style
  const level = isOneOfSeveral ? '##' : '#'
  return [
    `${level} ${toText(title)}`,
    ...(notes.length === 0 ? [] : [notes.map(toText).join(lineBreak)]),
    ...sections.flatMap((one) => [
      `${level}# ${toText(one.title)}`,
      ...one.blocks.map((block) => blockLines(block, style)),
    ]),
  ]
}

function blockLines(block: Block, style: LineStyle): string {
  switch (block.kind) {
    case 'text':
      return style.toText(block.text)
    case 'list':
      return block.items.map((item) => `- ${style.toText(item)}`).join('\n')
    case 'table':
    case 'chart':
      return tableLines(block.table, style)
  }
}

function tableLines({ caption, columns, rows }: Table, { toText, strong }: LineStyle): string {
  const cells = [columns.map(({ title }) => toText(title)), ...rows.map((row) => row.map(toText))]
  const widths = columns.map((_, index) =>
    Math.max(4, ...cells.map((row) => row[index]?.length ?? 0)),
  )
  const toLine = (row: readonly string[]) =>
    `| ${row.map((cell, n) => (columns[n]?.isNumber ? cell.padStart(widths[n] ?? 0) : cell.padEnd(widths[n] ?? 0))).join(' | ')} |`
  const rule = columns.map(
    ({ isNumber }, n) => `${'-'.repeat((widths[n] ?? 4) - 1)}${isNumber ? ':' : '-'}`,
  )
  const [header = [], ...body] = cells
  return [
    `${strong}${toText(caption)}${strong}`,
    '',
    toLine(header),
    `| ${rule.join(' | ')} |`,
    ...body.map(toLine),
  ].join('\n')
}

/**
 * Text that shows as it is: on one line, without markup, HTML, links, formulas or mentions. Nothing
 * of a report is at the start of a line but titles and sentences of our own.
 */
export function escapeMarkdown(text: string): string {
  return toPrintable(text.toWellFormed())
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/@/g, '&commat;')
    .replace(/[\\`*_[\]|~#!$^]/g, '\\$&')
    .replace(/:\/\//g, '\\://')
    .replace(/\bwww\./gi, (www) => `${www.slice(0, 3)}\\.`)
}
