/** The writers of the rows of one object, by format. */
import type { ExportFormat, SpreadsheetForm } from '../core/formats.ts'
import type {
  ByteOutput,
  ExportColumn,
  ExportRow,
  ExportSelection,
  ExportValue,
  RowWriter,
} from '../core/selection.ts'
import { type CsvOptions, createCsvWriter, defuse } from './csv-writer.ts'
import { createParquetWriter } from './parquet-writer.ts'
import { createWorkbookWriter, fitCell } from './workbook-writer.ts'

/** SQLite is one file for all objects. */
export type FileFormat = Exclude<ExportFormat, 'sqlite'>

export const createRowWriter: Readonly<
  Record<
    FileFormat,
    (selection: ExportSelection, output: ByteOutput, options: CsvOptions) => RowWriter
  >
> = {
  csv: ({ columns }, output, request) => createCsvWriter(columns, output, request),
  jsonl: ({ columns }, output) => createJsonLinesWriter(columns, output),
  xlsx: ({ object, columns }, output) => createWorkbookWriter(object.name, columns, output),
  parquet: createParquetWriter,
}

/** `name`: of the sheet. `escapeText`: what CSV has of a text. `isFilledIn`: people write into it. */
export function createSpreadsheetWriter(
  name: string,
  columns: readonly ExportColumn[],
  output: ByteOutput,
  { format, separator }: SpreadsheetForm,
  { escapeText = defuse, isFilledIn = false } = {},
): RowWriter {
  if (format === 'csv')
    return createCsvWriter(columns, output, { forSpreadsheets: true, separator, escapeText })
  const { write, end } = createWorkbookWriter(name, columns, output, { isFilledIn })
  return { write: (rows) => write(rows.map((row) => row.map(fitCell))), end }
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
