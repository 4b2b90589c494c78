/** Rows as CSV: an empty cell is null, a quoted empty one is the empty text. */
import { byteOrderMark, formulaStart, quoteCsvCell } from '../values/csv.ts'
import type { ByteOutput, ExportColumn, ExportValue, RowWriter } from './core/export.ts'

/** `forSpreadsheets`: with a byte order mark, and an apostrophe before texts that would be executed as formulas. */
type CsvOptions = { readonly forSpreadsheets: boolean }

export function createCsvWriter(
  columns: readonly ExportColumn[],
  output: ByteOutput,
  { forSpreadsheets }: CsvOptions,
): RowWriter {
  const toCell = forSpreadsheets ? toSpreadsheetCell : toPlainCell
  let header = `${forSpreadsheets ? byteOrderMark : ''}${toLine(columns.map(({ name }) => toCell(name)))}`
  const write = async (text: string) => {
    const bytes = Buffer.from(header + text)
    header = ''
    if (bytes.length > 0) await output.write(bytes)
  }
  return {
    write: (rows) => write(rows.map((row) => toLine(row.map(toCell))).join('')),
    end: () => write(''),
  }
}

function toLine(cells: readonly string[]): string {
  return `${cells.join(',')}\r\n`
}

function toPlainCell(value: ExportValue): string {
  if (value === null) return ''
  if (typeof value !== 'string') return String(value)
  return value === '' ? '""' : quoteCsvCell(value)
}

function toSpreadsheetCell(value: ExportValue): string {
  return toPlainCell(typeof value === 'string' && formulaStart.test(value) ? `'${value}` : value)
}
