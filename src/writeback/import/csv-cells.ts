/**
 * Encodes values as CSV cells and decodes them. A spreadsheet executes a cell that looks like a formula, and visitors
 * write some of these texts, so such a text gets a leading `'`, which is removed when it is read.
 */

/**
 * Texts that need a leading apostrophe. A formula may follow spaces in some spreadsheets, and East Asian editions accept
 * full-width operators. The bare text `null` is included because an unquoted `null` cell means no value.
 */
const formulaLike = /^'*(?:[\t\r\n]|\s*[=+\-@＝＋－＠]|null$)/

/** The cell's text, not yet quoted. */
export function toCsvCell(value: string | number | boolean | null): string {
  if (typeof value !== 'string') return String(value)
  return formulaLike.test(value) ? `'${value}` : value
}

/** The cell `null` is no value; every other cell is text. */
export function fromCsvCell(cell: string): string | null {
  if (cell === 'null') return null
  return cell.startsWith("'") && formulaLike.test(cell) ? cell.slice(1) : cell
}

/** One CSV line, including its CR LF. */
export function toCsvLine(cells: readonly string[]): string {
  return `${cells.map(quoteCell).join(',')}\r\n`
}

/** Quotes every character that some edition may treat as a separator, and outer spaces, which some editions trim. */
function quoteCell(cell: string): string {
  return /[",;\t\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}
