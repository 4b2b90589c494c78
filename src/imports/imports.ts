/**
 * Files become write-backs: any workbook, CSV or JSON Lines is read as a person meant it, every
 * row is checked before any is queued, and all are queued or none. What is not certain is refused,
 * with the row and the reason.
 */
export { csvHeader, parseFlag, toCsvRow } from './csv-cells.ts'
export { requestColumns, templateColumn, toColumnKey } from './csv-header-words.ts'
export {
  type CheckFileOptions,
  checkFile,
  type ImportOptions,
  importFile,
  type QueuedImport,
  type RejectedImport,
} from './enqueue-file.ts'
export { fillReply, withFilledReply } from './fill-reply.ts'
export { formatRows, type MistakeKind } from './mistake-kinds.ts'
export {
  fileSource,
  type ImportFile,
  type ImportSource,
  prepareFile,
  readHead,
  withImportFile,
} from './open-file.ts'
export { prepareReplies } from './prepare-replies.ts'
export {
  columnMeanings,
  createSheetWriter,
  downloadedColumns,
  isMeaning,
  type SheetCells,
  type SheetOptions,
  type SheetRow,
  sheetColumns,
  sheetTemplate,
  toSheetCells,
} from './reply-sheet.ts'
export { readReplyValues } from './sql/reply-values.ts'
export { isWorkbook } from './workbook.ts'
