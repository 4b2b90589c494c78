/**
 * The copy of the project: lists and rows are read, proved, stored with their cursors in one
 * transaction, verified and audited. What could not be read is a gap or a flag, never silence.
 */

export {
  type AuditEstimate,
  type AuditedStream,
  type AuditResult,
  auditedStreams,
  type Difference,
  describeEvidence,
} from './core/audit.ts'
export { teamSenderTypes, toMessageSide } from './core/message-fields.ts'
export { createMirrorGet } from './core/mirror-get.ts'
export type {
  AuditReport,
  GapReport,
  StreamReport,
  SyncMode,
  SyncOutcome,
  SyncProgress,
  SyncReport,
  VerifyReport,
} from './core/reports.ts'
export { allStreams, conversations, documentedFields, messages, visitors } from './core/streams.ts'
export { createAuditStore } from './sql/audits.ts'
export { createMirror, type Mirror, type MirrorOptions } from './sql/mirror.ts'
export {
  earliestTime,
  readAuditEstimates,
  readMirrorState,
  readNewest,
} from './sql/mirror-state.ts'
export { countAllPending, countPendingParents, listPendingStreams } from './sql/pending-children.ts'
export { findPendingKind, listPendingFacts, removePendingFacts } from './sql/pending-facts.ts'
export { countMirrored, readRowCounts } from './sql/row-counts.ts'
export { acquireStreamLocks, type LockResult } from './sql/stream-locks.ts'
export { readLastReads } from './sql/sync-runs.ts'
export {
  compactionCursor,
  gapKeysOf,
  readBehaviours,
  readColumnStates,
  readCursor,
  readLaxColumns,
  recordBehaviours,
  requestCompaction,
  writeCursors,
} from './sql/sync-state.ts'
export { type MessagesRead, readMessages } from './sync/read-messages.ts'
export { findRollupHistory, requireConfirmedZone } from './sync/rollup-days.ts'
export { runSync } from './sync/sync.ts'
export { type AuditDeps, auditedNames, canAudit, runAudit } from './verify/audit.ts'
export { readPrivateValues } from './verify/read-private-values.ts'
export { verifyMirror } from './verify/verify-mirror.ts'
