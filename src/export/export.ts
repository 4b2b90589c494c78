/**
 * Any table or view as a file: CSV, JSON Lines, Parquet or SQLite, complete or not there at all.
 */
export { type ExportFormat, exportFormats, formatOfPath } from './core/formats.ts'
export type {
  ExportColumn,
  ExportObject,
  ExportProgress,
  ExportReport,
  ExportValue,
} from './core/selection.ts'
export { type ExportRequest, exportObjects } from './export-objects.ts'
export {
  createOutputFile,
  createUnnamedFile,
  type OutputFile,
  type OverwriteOptions,
  readFromStart,
} from './output-file.ts'
export { type ExportSnapshot, withSnapshot } from './sql/snapshot.ts'
export { byteOrderMark, createCsvWriter, formulaStart, quoteCsvCell, toCsvLine } from './writers/csv-writer.ts'
