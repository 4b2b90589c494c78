/**
 * Write-backs: imported, reviewed, decided by people, sent in order and within the rate, verified, taken back. A reply leaves at
 * most once, or its fate is known to be unknown.
 */
export {
  type BatchDecisionReport,
  type BatchEstimate,
  type BatchesReport,
  type BatchOutcome,
  type BatchReport,
  type BatchState,
  type BatchSummary,
  estimateBatchMs,
  estimateSends,
  type NotReverted,
  needsApproval,
  type Pace,
  type RevertReport,
  type SelectionDigest,
  type SelectionMismatch,
} from './core/batches.ts'
export type { SendingFacts } from './core/decision-record.ts'
export type { DecisionTerms, NewAuditEvent, OutboxFilter } from './core/decision-terms.ts'
export {
  type BatchDecision,
  changedStatuses,
  type DecisionName,
  decisionNames,
  decisionOf,
  decisions,
  isAboutProject,
  isDecision,
  type OutboxDecision,
  type ProjectDecision,
} from './core/decisions.ts'
export { type Operation, operations, operationsInHelp, operationTypes, reviewActions } from './core/operations.ts'
export {
  type ClaimableWriteback,
  type EventLogEntry,
  type NamedEntry,
  type OutboxEntry,
  targetIdOf,
} from './core/outbox-entry.ts'
export type {
  AddWritebackReport,
  DecisionReport,
  ImportReport,
  ListWritebacksReport,
  PreviewReport,
  PushReport,
  QueuedImport,
  RejectedImport,
  SendEstimate,
  ShowWritebackReport,
} from './core/reports.ts'
export { formatRows, type ImportOverride, type MistakeKind, mistakeText, toMistake } from './core/request-mistake.ts'
export { type ReviewOutcome, reviewOutcomes } from './core/review.ts'
export {
  describeChange,
  describeDeviation,
  describeDifference,
  describeEffect,
  describeGroup,
  describeOrder,
  describeRequest,
  describeTerms,
  describeVerdict,
  outcomeLabels,
  shortId,
} from './core/review-labels.ts'
export type { CheckedReview, ReviewGroup, ReviewSummary } from './core/review-summary.ts'
export {
  presentStatuses,
  type StatusCounts,
  type WritebackStatus,
  writebackStatuses,
} from './core/state.ts'
export { commonFields, expiryMistakes, parseRequest, type WritebackRequest } from './core/writeback-request.ts'
export { type BatchDecisionRequest, executeBatchDecision, executeDecision, requireBatch } from './decide.ts'
export type { WritebackDeps } from './handlers/operation-handler.ts'
export { csvHeader, parseFlag, requestColumns, toColumnKey, toCsvRow } from './import/csv-cells.ts'
export type { ColumnMap } from './import/csv-values.ts'
export {
  type CheckFileOptions,
  checkFile,
  fileSource,
  type ImportFile,
  type ImportOptions,
  type ImportSource,
  importFile,
  withImportFile,
} from './import/import-file.ts'
export { prepareFile, readHead } from './import/prepare-file.ts'
export {
  columnMeanings,
  isMeaning,
  type SheetOptions,
  type SheetRow,
  sheetColumns,
  sheetHeader,
  sheetTemplate,
  toSheetLine,
} from './import/reply-sheet.ts'
export {
  type BatchProgress,
  estimateBatch,
  listBatches,
  readBatch,
  readWriteback,
  toBatchProgress,
} from './read-reports.ts'
export { type RevertRequest, revertBatch } from './revert.ts'
export { checkSource } from './review/check-rows.ts'
export {
  openCsvOutput,
  openLinesOutput,
  openPageOutput,
  type ReviewOutput,
  type ReviewPageText,
} from './review/review-files.ts'
export {
  batchSource,
  type OnReviews,
  type ReviewSource,
  reviewBatch,
  reviewSource,
} from './review/review-rows.ts'
export {
  circuitNotices,
  evaluateCircuits,
  isBlocked,
  operationsWithoutScope,
  toClaimFilter,
  withoutProjectNotices,
} from './send/circuit-breaker.ts'
export { maxConcurrentLanes, sendLane } from './send/lane.ts'
export { type PushProgress, push } from './send/push.ts'
export { type AuditLog, createAuditLog } from './sql/audit-log.ts'
export { deleteWords, eraseWritebacks } from './sql/delete-words.ts'
export { createOutbox, type Outbox, withOutboxSnapshot } from './sql/outbox.ts'
export { effectiveStatus } from './sql/row.ts'
export { readSendingStop } from './sql/sending.ts'
export { createSends, listHeld, readSends } from './sql/sends.ts'
