/**
 * Any table or view as a file: CSV, JSON Lines, Parquet or SQLite, complete or not there at all.
 */
export {
  type ExportColumn,
  type ExportFormat,
  type ExportObject,
  type ExportProgress,
  type ExportReport,
  type ExportValue,
  exportFormats,
} from './core/export.ts'
export { byteOrderMark, createCsvWriter, formulaStart, quoteCsvCell, toCsvLine } from './csv-writer.ts'
export { type ExportRequest, exportObjects } from './export-objects.ts'
export { createOutputFile, type OutputFile, type OverwriteOptions } from './output-file.ts'
export { type ExportSnapshot, withSnapshot } from './sql/snapshot.ts'
