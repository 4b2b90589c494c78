/** A page as data: what Markdown and HTML both show. Texts are not escaped yet. */

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

/** A column is aligned to the right if its title ends a line of numbers. */
export type Table = {
  readonly caption: string
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly string[])[]
}
export type Column = { readonly title: string; readonly isNumber: boolean }

type ChartTexts = { readonly title: string; readonly description: string }

export type Chart =
  | ({ readonly kind: 'bars' } & BarChart)
  | ({ readonly kind: 'lines' } & LineChart)
  | ({ readonly kind: 'heat map' } & HeatMap)

export type BarChart = ChartTexts & { readonly bars: readonly { readonly label: string; readonly value: number }[] }

/** `values`: one for each label; null = a gap. */
export type LineChart = ChartTexts & {
  readonly labels: readonly string[]
  readonly lines: readonly { readonly name: string; readonly values: readonly (number | null)[] }[]
}

/** `values`: by row, then by column. */
export type HeatMap = ChartTexts & {
  readonly rows: readonly string[]
  readonly columns: readonly string[]
  readonly values: readonly (readonly number[])[]
}

export function text(title: string): Column {
  return { title, isNumber: false }
}

export function number(title: string): Column {
  return { title, isNumber: true }
}
