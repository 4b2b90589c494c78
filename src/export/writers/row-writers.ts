/** The writers of the rows of one object, by format. */
import type { ExportFormat } from '../core/formats.ts'
import type {
  ByteOutput,
  ExportColumn,
  ExportRow,
  ExportSelection,
  ExportValue,
  RowWriter,
} from '../core/selection.ts'
import { createCsvWriter } from './csv-writer.ts'
import { createParquetWriter } from './parquet-writer.ts'

/** Whether CSV is for spreadsheets. */
type WriterOptions = { readonly forSpreadsheets: boolean }

/** SQLite is one file for all objects. */
export type FileFormat = Exclude<ExportFormat, 'sqlite'>

export const createRowWriter: Readonly<
  Record<
    FileFormat,
    (selection: ExportSelection, output: ByteOutput, options: WriterOptions) => RowWriter
  >
> = {
  csv: ({ columns }, output, request) => createCsvWriter(columns, output, request),
  jsonl: ({ columns }, output) => createJsonLinesWriter(columns, output),
  parquet: createParquetWriter,
}

/** One object a line, with every column. Integers keep all digits; JSON stays text. */
function createJsonLinesWriter(columns: readonly ExportColumn[], output: ByteOutput): RowWriter {
  const names = columns.map(({ name }) => JSON.stringify(name))
  const toJson = (value: ExportValue) =>
    typeof value === 'bigint' ? String(value) : JSON.stringify(value)
  const toLine = (row: ExportRow) =>
    `{${row.map((value, n) => `${names[n]}:${toJson(value)}`).join(',')}}\n`
  return {
    write: (rows) => output.write(Buffer.from(rows.map(toLine).join(''))),
    end: async () => {},
  }
}
