/** Tables of numbers, each beside that of the period before. */
import type { Change } from './change.ts'
import { number, type Table, text } from './page.ts'
import { formatChange, formatValue, type Unit } from './values.ts'

export type ChangeLine = readonly [label: string, change: Change, unit: Unit]

export function changeTable(caption: string, lines: readonly ChangeLine[]): Table {
  return {
    caption,
    columns: [text(''), number('Period'), number('Before'), number('Change')],
    rows: lines.map(([label, change, unit]) => [
      label,
      formatValue(change.value, unit),
      formatValue(change.before, unit),
      formatChange(change, unit),
    ]),
  }
}
