/**
 * Write-backs: queued, reviewed, decided by people, sent in order and within the rate, verified,
 * taken back. A reply leaves at most once, or its fate is known to be unknown.
 */
export {
  type BatchesReport,
  type BatchOutcome,
  type BatchReport,
  type BatchState,
  type ColumnMap,
  countOperations,
  estimateBatchMs,
  estimateSends,
  type NotReverted,
  needsApproval,
  type Pace,
  type RevertReport,
  type SendEstimate,
  shownState,
} from './core/batches.ts'
export { type CommonValues, commonFields, commonNames, commonValue } from './core/common-fields.ts'
export {
  type BatchDecisionReport,
  type DecisionReport,
  type DecisionTerms,
  isQueuedBy,
  type OutboxFilter,
  type SelectionDigest,
  type SelectionMismatch,
  type SendingFacts,
} from './core/decision-terms.ts'
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
export {
  isCorrection,
  isOperation,
  type Operation,
  operations,
  operationsInHelp,
  operationTypes,
  requestFields,
  reviewActions,
} from './core/operations.ts'
export {
  type Candidate,
  type EventLogEntry,
  type NamedEntry,
  type OutboxEntry,
  targetIdOf,
  type Writeback,
} from './core/outbox-entry.ts'
export {
  describeChange,
  describeEffect,
  describeGroup,
  describeMirrorAge,
  describeOrder,
  describeRequest,
  describeSide,
  describeTerms,
  outcomeLabels,
  shortId,
} from './core/review/labels.ts'
export { describeTextChanges, findMarks, senderOf } from './core/review/marks.ts'
export {
  type ReviewGroup,
  type ReviewOutcome,
  type ReviewSummary,
  reviewOutcomes,
  type WritebackReview,
} from './core/review/terms.ts'
export {
  formatCounts,
  openStatuses,
  presentStatuses,
  type StatusCounts,
  type WritebackStatus,
} from './core/state.ts'
export {
  expiryMistakes,
  foreignFieldMistake,
  type ImportOverride,
  isTargetId,
  mistakeText,
  parseRequest,
  type RequestMistake,
  type RequestParseResult,
  toMistake,
  type WritebackRequest,
} from './core/writeback-request.ts'
export {
  type BatchDecisionRequest,
  executeBatchDecision,
  executeDecision,
  requireBatch,
} from './decide.ts'
export {
  type BatchProgress,
  describeBatch,
  listBatches,
  readBatch,
  readWriteback,
  type ShowWritebackReport,
  toBatchProgress,
} from './read-reports.ts'
export { revertBatch } from './revert.ts'
export {
  batchSource,
  type OnReviews,
  type ReviewSource,
  reviewBatch,
  reviewSource,
} from './review-rows.ts'
export {
  circuitNotices,
  createScopeRefusals,
  evaluateCircuits,
  mayBeOpen,
  toClaimFilter,
  withoutProjectNotices,
} from './send/circuit-breaker.ts'
export { maxConcurrentLanes, sendLane } from './send/lane.ts'
export { type PushProgress, type PushReport, push } from './send/push.ts'
export { createOutbox, type Outbox, withOutboxSnapshot } from './sql/outbox.ts'
export {
  countWithoutProject,
  createSends,
  listHeld,
  readSendingStop,
  readSends,
} from './sql/sending.ts'
