/** Rows as JSON Lines: one object a line, with every column. Integers keep all digits; JSON stays text. */
import type { ByteOutput, ExportColumn, ExportRow, ExportValue, RowWriter } from '../core/export.ts'

export function createJsonLinesWriter(columns: readonly ExportColumn[], output: ByteOutput): RowWriter {
  const names = columns.map(({ name }) => JSON.stringify(name))
  const toLine = (row: ExportRow) => `{${row.map((value, n) => `${names[n]}:${toJson(value)}`).join(',')}}\n`
  return {
    write: (rows) => output.write(Buffer.from(rows.map(toLine).join(''))),
    end: async () => {},
  }
}

function toJson(value: ExportValue): string {
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value)
}
