/** The form of CSV files (RFC 4180), and texts that a spreadsheet would execute. */

/** A formula may follow spaces in some spreadsheets, and East Asian editions accept full-width operators. */
export const formulaStart = /^'*(?:[\t\r\n]|\s*[=+\-@＝＋－＠])/

/** Quotes every character that some edition may treat as a separator, and outer spaces, which some editions trim. */
export function quoteCsvCell(cell: string): string {
  return /[",;\t\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}

/** One CSV line, including its CR LF. */
export function toCsvLine(cells: readonly string[]): string {
  return `${cells.map(quoteCsvCell).join(',')}\r\n`
}

/** Spreadsheets otherwise misread UTF-8 and save it damaged. */
export const byteOrderMark = '\uFEFF'
