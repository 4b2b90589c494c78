/**
 * The tables of all pages: lines in a document, and in the console cards on a phone, whose cells
 * name their columns, unless it stands in `.scroll`, as tables of numbers do.
 */
import { attribute, type Html, html, nothing } from '../values/html.ts'

export type Column = {
  readonly title: string
  readonly isNumber?: boolean
  /** Where a click on the title leads, which sorts the rows by it, and how they are sorted now. */
  readonly sort?: { readonly to: string; readonly order: 'ascending' | 'descending' | 'none' }
  /** What it is, in a sentence. */
  readonly note?: string
}
export type Cell = Html | string | number

/**
 * `lines`: the first cell names its row. `cards`: the roles are written out because a phone takes
 * them from the elements.
 */
export type TableLayout = 'lines' | 'cards'

export function table(
  {
    caption,
    columns,
    rows,
    empty,
  }: {
    /** What the rows are; read aloud, and shown above the table if it stands alone. */
    readonly caption: string | null
    readonly columns: readonly Column[]
    readonly rows: readonly (readonly Cell[])[]
    /** In place of a table without rows. */
    readonly empty?: string
  },
  layout: TableLayout = 'cards',
): Html {
  if (rows.length === 0 && empty !== undefined) return html`<p class="empty">${empty}</p>`
  const role = (name: string) => attribute('role', layout === 'cards' ? name : null)
  return html`<table ${role('table')}>${caption === null ? nothing : html`<caption>${caption}</caption>`}
<thead ${role('rowgroup')}>${tableHeader(columns, layout)}</thead>
<tbody ${role('rowgroup')}>${rows.map((row) => tableRow(columns, row, layout))}</tbody></table>`
}

export function tableHeader(columns: readonly Column[], layout: TableLayout): Html {
  const role = layout === 'cards' ? 'columnheader' : null
  const heads = columns.map((column) => {
    const { title, sort, note = null } = column
    if (title === '') return html`<td ${attribute('role', role && 'cell')}></td>`
    const [order, content] =
      sort === undefined ? [null, title] : [sort.order, html`<a href="${sort.to}">${title}</a>`]
    return html`<th scope="col" ${attribute('role', role)} ${kindOf(column)}
      ${attribute('aria-sort', order)} ${attribute('title', note)}>${content}</th>`
  })
  return html`<tr ${attribute('role', layout === 'cards' ? 'row' : null)}>${heads}</tr>`
}

export function tableRow(
  columns: readonly Column[],
  row: readonly Cell[],
  layout: TableLayout,
): Html {
  if (layout === 'lines')
    return html`<tr>${row.map((cell, n) =>
      n === 0
        ? html`<th scope="row" ${kindOf(columns[n])}>${cell}</th>`
        : html`<td ${kindOf(columns[n])}>${cell}</td>`,
    )}</tr>\n`
  return html`<tr role="row">${row.map(
    (cell, n) =>
      html`<td role="cell" ${kindOf(columns[n])}
        ${attribute('data-label', columns[n]?.title ?? '')}>${cell}</td>`,
  )}</tr>\n`
}

function kindOf(column: Column | undefined) {
  return attribute('class', column?.isNumber === true ? 'number' : null)
}
