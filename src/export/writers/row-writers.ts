/** The writers of the rows of one object, by format. */
import type { ExportFormat } from '../core/formats.ts'
import type { ByteOutput, ExportSelection, RowWriter } from '../core/selection.ts'
import { createCsvWriter } from './csv-writer.ts'
import { createJsonLinesWriter } from './json-lines-writer.ts'
import { createParquetWriter } from './parquet-writer.ts'

/** Whether CSV is for spreadsheets. */
type WriterOptions = { readonly forSpreadsheets: boolean }

/** SQLite is one file for all objects. */
export type FileFormat = Exclude<ExportFormat, 'sqlite'>

export const createRowWriter: Readonly<
  Record<FileFormat, (selection: ExportSelection, output: ByteOutput, options: WriterOptions) => RowWriter>
> = {
  csv: ({ columns }, output, request) => createCsvWriter(columns, output, request),
  jsonl: ({ columns }, output) => createJsonLinesWriter(columns, output),
  parquet: createParquetWriter,
}
