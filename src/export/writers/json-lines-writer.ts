/** Rows as JSON Lines. */
import type { ByteOutput, ExportColumn, ExportRow, ExportValue, RowWriter } from '../core/selection.ts'

/** One object a line, with every column. Integers keep all digits; JSON stays text. */
export function createJsonLinesWriter(columns: readonly ExportColumn[], output: ByteOutput): RowWriter {
  const names = columns.map(({ name }) => JSON.stringify(name))
  const toJson = (value: ExportValue) => (typeof value === 'bigint' ? String(value) : JSON.stringify(value))
  const toLine = (row: ExportRow) => `{${row.map((value, n) => `${names[n]}:${toJson(value)}`).join(',')}}\n`
  return {
    write: (rows) => output.write(Buffer.from(rows.map(toLine).join(''))),
    end: async () => {},
  }
}
