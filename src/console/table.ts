/** The tables of all pages. On a phone each row is a card whose cells have the names of their columns. */
import { attribute, type Html, html } from '../core/html/html.ts'

export type Column = { readonly title: string; readonly isNumber?: boolean }
export type Cell = Html | string | number

export type Table = {
  /** What the rows are; read aloud, and shown above the table if it stands alone. */
  readonly caption: string
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly Cell[])[]
  /** In place of a table without rows. */
  readonly empty: string
}

/** On a phone the name of the column stands beside it, so it is one element. */
function wrapped(cell: Cell): Html | string | number {
  return typeof cell === 'object' ? html`<div>${cell}</div>` : cell
}

/** The roles are written out because the layout of a phone takes them from the elements. */
export function table({ caption, columns, rows, empty }: Table): Html {
  if (rows.length === 0) return html`<p class="empty">${empty}</p>`
  const kind = (index: number) => (columns[index]?.isNumber === true ? 'number' : 'text')
  const heads = columns.map(
    ({ title }, index) => html`<th scope="col" role="columnheader" class="${kind(index)}">${title}</th>`,
  )
  const toCell = (cell: Cell, index: number) =>
    html`<td role="cell" class="${kind(index)}" ${attribute('data-label', columns[index]?.title ?? '')}>${wrapped(cell)}</td>`
  return html`<table role="table"><caption>${caption}</caption>
<thead role="rowgroup"><tr role="row">${heads}</tr></thead>
<tbody role="rowgroup">${rows.map((row) => html`<tr role="row">${row.map(toCell)}</tr>\n`)}</tbody></table>`
}
