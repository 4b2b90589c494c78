/** Aligns columns: text to the left, numbers to the right. */
import { toPrintable } from '../../values/format.ts'

/** A table without a frame. The first line, often a header, does not decide the alignment. */
export function alignColumns(rows: readonly (readonly string[])[], indent = ''): string[] {
  // Pads `1 row` like `2 rows`, so that the numbers are aligned.
  const cells = rows.map((row) =>
    row.map((cell) => toPrintable(cell).replace(/^1 (request|row)$/, '$& ')),
  )
  const columns = Array.from({ length: maxOf(cells.map((row) => row.length)) }, (_, column) => {
    const inColumn = cells.map((row) => row[column] ?? '')
    const body = inColumn.slice(cells.length > 1 ? 1 : 0).filter((cell) => cell !== '')
    const isNumeric = body.length > 0 && body.every((cell) => numeric.test(cell))
    return { width: maxOf(inColumn.map(lettersIn)), isNumeric }
  })
  return cells.map((row) => {
    const padded = columns.map(({ width, isNumeric }, column) => {
      const cell = row[column] ?? ''
      const padding = ' '.repeat(width - lettersIn(cell))
      return isNumeric ? padding + cell : cell + padding
    })
    return `${indent}${padded.join('   ')}`.trimEnd()
  })
}

/** Lines of which some are there only sometimes: what is false or undefined is left out. */
export function linesOf(
  ...parts: readonly (string | readonly string[] | false | undefined)[]
): readonly string[] {
  return parts.filter((part) => part !== false && part !== undefined).flat()
}

const numeric = /^[\d,.]+( (rows?|requests?|changed|ms|s) ?)?$/

const widestCell = 48

/** A table with a header and a rule under it. */
export function renderTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
): string[] {
  const cells = rows.map((row) => row.map((cell) => cutAt(widestCell, cell)))
  const [first = '', ...rest] = alignColumns([header, ...cells], '  ')
  return [first, `  ${'─'.repeat(maxOf([first, ...rest].map(lettersIn)) - 2)}`, ...rest]
}

export function cutAt(widest: number, text: string): string {
  return lettersIn(text) > widest ? `${[...text].slice(0, widest - 1).join('')}…` : text
}

const lettersIn = (text: string) => [...text].length

/** Not Math.max(...numbers): a list may be longer than the argument limit. */
function maxOf(numbers: readonly number[]): number {
  return numbers.reduce((most, number) => Math.max(most, number), 0)
}
