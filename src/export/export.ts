/**
 * Any table or view as a file: CSV, JSON Lines, Parquet or SQLite, complete or not there at all. Of
 * the rows of the mirror also digests by day, which are equal for equal rows.
 */
export {
  compareDigests,
  type DayChange,
  hasChanges,
  type StreamChange,
} from './core/day-digests.ts'
export {
  type CsvSeparatorChoice,
  type ExportFormat,
  exportFormats,
  formatOfPath,
  isTextFormat,
  type SpreadsheetForm,
  separatorChoices,
} from './core/formats.ts'
export type {
  ByteOutput,
  ExportColumn,
  ExportProgress,
  ExportReport,
  ExportRow,
  ExportValue,
  RowWriter,
} from './core/selection.ts'
export { type ExportDeps, type ExportRequest, exportObjects } from './export-objects.ts'
export {
  filesOfDatabase,
  importedFile,
  type KeptFiles,
  keptFiles,
  otherOutput,
  rejectKept,
} from './kept-files.ts'
export {
  type LakeStatus,
  manifestName,
  readLakeStatus,
  readManifest,
  readManifestOf,
} from './lake/manifest.ts'
export {
  LakeBusyError,
  type LakeReport,
  type LakeRequest,
  mirroredObjects,
  writeLake,
} from './lake/write-lake.ts'
export { countMirror, type MirrorCount, readVerifyDocument } from './mirror-count.ts'
export {
  chunkSize,
  createOutputFile,
  createUnnamedFile,
  explainErrors,
  type OutputFile,
  type OutputOptions,
  readFromStart,
  rejectOutput,
} from './output-file.ts'
export { type ExportSnapshot, withSnapshot } from './sql/snapshot.ts'
export { snapshotOfAnswer } from './statement-answer.ts'
export {
  byteOrderMark,
  createCsvWriter,
  defuse,
  defuseWithin,
  formulaStart,
  quoteCsvCell,
  restoreWithin,
  toCsvLine,
} from './writers/csv-writer.ts'
export { createSpreadsheetWriter } from './writers/row-writers.ts'
