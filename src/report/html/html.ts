/** A page as one self-contained HTML file: without scripts, and without requests to anywhere. */
import { type Html, html, trusted } from '../../core/html/html.ts'
import type { Block, Page, PagePart, Section, Table } from '../page.ts'
import { renderChart } from './charts.ts'
import { style } from './style.ts'

/** Should any text ever get past the escaping, a browser still runs and loads nothing. */
const policy = "default-src 'none'; style-src 'unsafe-inline'"

const styleElement = trusted(`<style>${style}</style>`)

export function renderHtml({ title, parts }: Page): string {
  const { html: markup } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
${styleElement}
</head>
<body>
<main>
${parts.map(renderPart)}</main>
</body>
</html>
`
  return markup
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
      return renderTable(block.table)
    case 'chart':
      return html`<figure>
<figcaption>${block.chart.title}</figcaption>
<div class="scroll">${renderChart(block.chart, id)}</div>
<details><summary>The numbers as a table</summary>
${renderTable(block.table)}</details>
</figure>
`
  }
}

function renderTable({ caption, columns, rows }: Table): Html {
  const isNumber = (index: number) => (columns[index]?.isNumber ? 'number' : 'text')
  const header = columns.map(({ title }, index) => html`<th scope="col" class="${isNumber(index)}">${title}</th>`)
  const toRow = (row: readonly string[]) =>
    html`<tr>${row.map((cell, index) =>
      index === 0
        ? html`<th scope="row" class="${isNumber(index)}"><bdi>${cell}</bdi></th>`
        : html`<td class="${isNumber(index)}"><bdi>${cell}</bdi></td>`,
    )}</tr>\n`
  return html`<div class="scroll"><table>
<caption>${caption}</caption>
<thead><tr>${header}</tr></thead>
<tbody>
${rows.map(toRow)}</tbody>
</table></div>
`
}
