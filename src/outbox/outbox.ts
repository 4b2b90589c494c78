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
  countOperations,
  estimateBatchMs,
  longestRest,
  type NotReverted,
  type OperationCounts,
  type RevertReport,
  type SelectionDigest,
  type SelectionMismatch,
} from './core/batches.ts'
export {
  type BatchDecision,
  changedStatuses,
  type DecisionName,
  type DecisionTerms,
  decisionNames,
  decisionOf,
  decisions,
  isDecision,
  type NewAuditEvent,
  type OutboxDecision,
  type OutboxFilter,
} from './core/decisions.ts'
export type { PayloadField } from './core/field-kinds.ts'
export type { ReasonGroup } from './core/group-reasons.ts'
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
export { formatRows, type ImportOverride, type MistakeKind, mistakeText } from './core/request-mistake.ts'
export { type ReviewOutcome, reviewOutcomes } from './core/review.ts'
export { thereAlready } from './core/review-guards.ts'
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
  laneBlockingStatuses,
  presentStatuses,
  type StatusCounts,
  type WritebackStatus,
  writebackStatuses,
} from './core/state.ts'
export { commonFields, expiryMistakes, parseRequest, type WritebackRequest } from './core/writeback-request.ts'
export { approvable, describeMismatch, executeDecision, requireBatch, resolveIds } from './decide.ts'
export type { WritebackDeps } from './handlers/operation-handler.ts'
export type { CheckResult } from './import/check-lines.ts'
export { csvHeader, requestColumns, toCsvRow } from './import/csv-columns.ts'
export { parseFlag } from './import/csv-values.ts'
export type { ImportFormat } from './import/file-form.ts'
export { openImportBuffer } from './import/import-buffer.ts'
export {
  type CheckFileOptions,
  checkFile,
  type ImportFile,
  type ImportOptions,
  importRequests,
  needsApproval,
  readImportLines,
  toQueuedImport,
} from './import/import-file.ts'
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
  compareWithChecks,
  importSource,
  type OnReviews,
  type ReviewSource,
  reviewSource,
} from './review/review-rows.ts'
export {
  circuitNotices,
  evaluateCircuits,
  isBlocked,
  missingScopeNotices,
  operationsWithoutScope,
  outcomesConsidered,
  toClaimFilter,
  withoutProjectNotices,
} from './send/circuit-breaker.ts'
export { sendLane } from './send/lane.ts'
export { type SendProgress, sendQueued } from './send/send-queued.ts'
export { type AuditLog, createAuditLog } from './sql/audit-log.ts'
export { clearWords, deleteWords } from './sql/delete-words.ts'
export { createOutbox, type Outbox, withOutboxSnapshot } from './sql/outbox.ts'
export { decidedSql, effectiveStatus } from './sql/row.ts'
export { createSends, listHeld, readSends } from './sql/sends.ts'
