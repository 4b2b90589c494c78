/** Aligns columns: text to the left, numbers to the right. */
import { toPrintable } from '../../values/format.ts'

/** Lines of a table without a frame. The first line does not decide the alignment: it may be a header. */
export function alignColumns(rows: readonly (readonly string[])[], indent = ''): string[] {
  // Pads `1 row` like `2 rows`, so that the numbers are aligned.
  const cells = rows.map((row) => row.map((cell) => toPrintable(cell).replace(/^1 (request|row)$/, '$& ')))
  const columns = maxOf(cells.map((row) => row.length))
  const columnShapes = Array.from({ length: columns }, (_, column) =>
    columnShape(cells.map((row) => row[column] ?? '')),
  )
  return cells.map((row) =>
    `${indent}${columnShapes.map((shape, column) => padCell(row[column] ?? '', shape)).join('   ')}`.trimEnd(),
  )
}

/** A table with a header and a rule under it; long cells are cut at `widest` characters. */
export function renderTable(header: readonly string[], rows: readonly (readonly string[])[], widest = 48): string[] {
  const short = rows.map((row) => row.map((cell) => truncateCell(cell, widest)))
  const [first = '', ...rest] = alignColumns([header, ...short], '  ')
  return [first, `  ${'─'.repeat(maxOf([first, ...rest].map((line) => [...line].length)) - 2)}`, ...rest]
}

type ColumnShape = { readonly width: number; readonly isRightAligned: boolean }

function columnShape(cells: readonly string[]): ColumnShape {
  const body = cells.slice(cells.length > 1 ? 1 : 0).filter((cell) => cell !== '')
  const right = body.length > 0 && body.every((cell) => /^[\d,.]+( (rows?|requests?|changed|ms|s) ?)?$/.test(cell))
  return { width: maxOf(cells.map((cell) => [...cell].length)), isRightAligned: right }
}

/** Not Math.max(...numbers): a list may be longer than the argument limit. */
function maxOf(numbers: readonly number[]): number {
  return numbers.reduce((most, number) => Math.max(most, number), 0)
}

function padCell(cell: string, { width, isRightAligned: right }: ColumnShape): string {
  const padding = ' '.repeat(width - [...cell].length)
  return right ? padding + cell : cell + padding
}

function truncateCell(cell: string, widest: number): string {
  const letters = [...cell]
  return letters.length > widest ? `${letters.slice(0, widest - 1).join('')}…` : cell
}
