/**
 * What a cell of CSV stands for. A spreadsheet runs a cell that begins like a formula, and a visitor may choose what a
 * cell begins with: such a text gets a `'` in front, and loses exactly that one when it is read.
 */

/**
 * Texts that are not written as they are, and those made of them by apostrophes in front. Spaces do not make a formula
 * harmless everywhere, and the wide signs are signs to East Asian editions. `null` alone is no text but nothing.
 */
const formulaLike = /^'*(?:[\t\r\n]|\s*[=+\-@＝＋－＠]|null$)/

/** The cell's characters, before they are quoted. */
export function toCsvCell(value: string | number | boolean | null): string {
  if (typeof value !== 'string') return String(value)
  return formulaLike.test(value) ? `'${value}` : value
}

/** `null` is nothing; everything else is a text. */
export function fromCsvCell(cell: string): string | null {
  if (cell === 'null') return null
  return cell.startsWith("'") && formulaLike.test(cell) ? cell.slice(1) : cell
}

/** One line of CSV, its CR LF included. */
export function toCsvLine(cells: readonly string[]): string {
  return `${cells.map(quoteCell).join(',')}\r\n`
}

/** Whatever somebody's edition may take for a separator is quoted, and so are spaces that it may cut off. */
function quoteCell(cell: string): string {
  return /[",;\t\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}
