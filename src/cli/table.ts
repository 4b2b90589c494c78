/** Columns that stand under each other: text to the left, numbers to the right. */
import { printable } from './readable.ts'

/** Lines of a table without a frame. Numbers stand to the right, whatever the first line says: it may be a header. */
export function aligned(rows: readonly (readonly string[])[], indent = ''): string[] {
  // So that the numbers of `1 row` and `2 rows` stand under each other.
  const cells = rows.map((row) => row.map((cell) => printable(cell).replace(/^1 (request|row)$/, '$& ')))
  const columns = greatest(cells.map((row) => row.length))
  const shapes = Array.from({ length: columns }, (_, column) => shapeOf(cells.map((row) => row[column] ?? '')))
  return cells.map((row) =>
    `${indent}${shapes.map((shape, column) => padded(row[column] ?? '', shape)).join('   ')}`.trimEnd(),
  )
}

/** A table with a header and a rule under it; long cells are cut at `widest` characters. */
export function withHeader(header: readonly string[], rows: readonly (readonly string[])[], widest = 48): string[] {
  const short = rows.map((row) => row.map((cell) => cut(cell, widest)))
  const [first = '', ...rest] = aligned([header, ...short], '  ')
  return [first, `  ${'─'.repeat(greatest([first, ...rest].map((line) => [...line].length)) - 2)}`, ...rest]
}

type Shape = { readonly width: number; readonly right: boolean }

function shapeOf(cells: readonly string[]): Shape {
  const body = cells.slice(cells.length > 1 ? 1 : 0).filter((cell) => cell !== '')
  const right = body.length > 0 && body.every((cell) => /^[\d,.]+( (rows?|requests?|changed|ms|s) ?)?$/.test(cell))
  return { width: greatest(cells.map((cell) => [...cell].length)), right }
}

/** A list may be longer than a call may have arguments. */
function greatest(numbers: readonly number[]): number {
  return numbers.reduce((most, number) => Math.max(most, number), 0)
}

function padded(cell: string, { width, right }: Shape): string {
  const padding = ' '.repeat(width - [...cell].length)
  return right ? padding + cell : cell + padding
}

function cut(cell: string, widest: number): string {
  const letters = [...cell]
  return letters.length > widest ? `${letters.slice(0, widest - 1).join('')}…` : cell
}
