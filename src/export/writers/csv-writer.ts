/** CSV (RFC 4180), and exports as CSV: an empty cell is null, a quoted empty one is the empty text. */
import type { ByteOutput, ExportColumn, ExportValue, RowWriter } from '../core/selection.ts'

/** A formula may follow spaces in some spreadsheets, and East Asian editions accept full-width operators. */
export const formulaStart = /^'*(?:[\t\r\n]|\s*[=+\-@＝＋－＠])/

/** Spreadsheets otherwise misread UTF-8 and save it damaged. */
export const byteOrderMark = '\uFEFF'

/** Quotes every character that some edition may treat as a separator, and outer spaces, which some editions trim. */
export function quoteCsvCell(cell: string): string {
  return /[",;\t\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}

/** One CSV line, including its CR LF. */
export function toCsvLine(cells: readonly string[]): string {
  return `${cells.map(quoteCsvCell).join(',')}\r\n`
}

/** `forSpreadsheets`: with a byte order mark, and an apostrophe before texts that would be executed as formulas. */
export function createCsvWriter(
  columns: readonly ExportColumn[],
  output: ByteOutput,
  { forSpreadsheets }: { readonly forSpreadsheets: boolean },
): RowWriter {
  const toCell = (value: ExportValue) => {
    if (typeof value !== 'string') return value === null ? '' : String(value)
    if (value === '') return '""'
    return quoteCsvCell(forSpreadsheets && formulaStart.test(value) ? `'${value}` : value)
  }
  const toLine = (row: readonly ExportValue[]) => `${row.map(toCell).join(',')}\r\n`
  let header = `${forSpreadsheets ? byteOrderMark : ''}${toLine(columns.map(({ name }) => name))}`
  const write: RowWriter['write'] = async (rows) => {
    const bytes = Buffer.from(header + rows.map(toLine).join(''))
    header = ''
    if (bytes.length > 0) await output.write(bytes)
  }
  return { write, end: () => write([]) }
}
