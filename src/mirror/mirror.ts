/**
 * The copy of the project: lists and rows are read, proved, stored with their cursors in one transaction, verified and audited.
 * What could not be read is a gap or a flag, never silence. It knows nothing of write-backs, analytics or pages.
 */
export {
  type AuditEstimate,
  type AuditedStream,
  type AuditResult,
  auditedStreams,
  describeEvidence,
  estimateDifferences,
  pooledMs,
} from './core/audit.ts'
export {
  compareDigests,
  createDayDigests,
  type DayChange,
  dayOf,
  digestOfDays,
  digestOfMirror,
  hasChanges,
} from './core/day-digests.ts'
export { findKey } from './core/item-fields.ts'
export { type MessageSide, teamSenderTypes, toMessageSide } from './core/message-fields.ts'
export { clockOffsetCursor, isMassDeletion, type StreamReport, type SyncMode, type SyncOutcome } from './core/mirror.ts'
export { decodeProfile, documentedPageSizes, type PagingProfile } from './core/pagination/paging-profile.ts'
export { allTime, type TimeRange } from './core/pagination/pending-ranges.ts'
export type {
  AuditReport,
  CountedStream,
  Difference,
  DigestComparison,
  GapReport,
  MirrorCount,
  RewriteReport,
  SyncProgress,
  SyncReport,
  VerifyDocument,
  VerifyReport,
} from './core/reports.ts'
export { createAuditStore, deleteAudits, listFinishedAudits } from './sql/audits.ts'
export { joinSnapshots } from './sql/join-snapshots.ts'
export { createMirror, type Mirror, type MirrorOptions } from './sql/mirror.ts'
export { countAllPending, countPendingParents, listPendingStreams } from './sql/pending-children.ts'
export { type FactKind, factKinds, findPendingKind, listPendingFacts, removePendingFacts } from './sql/pending-facts.ts'
export { inTransaction } from './sql/project-context.ts'
export { countFutureRows, earliestTime } from './sql/reader.ts'
export { requireActivityKeys, rewriteActivityKeys } from './sql/rewrite-activity-keys.ts'
export { rewriteRows } from './sql/rewrite-raw.ts'
export { countRows, countToShow, type RowCount, readRowCounts, rememberRowCounts } from './sql/row-counts.ts'
export {
  acquireStreamLocks,
  findLockHolder,
  type LockResult,
} from './sql/stream-locks.ts'
export { identityColumns } from './sql/stream-tables.ts'
export { deleteIdleRuns } from './sql/sync-runs.ts'
export { readBehaviours, readCursor, recordBehaviours } from './sql/sync-state.ts'
export { createDeliveries, type WebhookDelivery } from './sql/webhook-deliveries.ts'
export { allStreams, conversations, messages, visitors } from './streams/all-streams.ts'
export type { ApiScope, Stream } from './streams/stream.ts'
export { isStopped } from './sync/concurrency.ts'
export { readList } from './sync/pages.ts'
export { confirmZone, findRollupHistory, rememberConfirmedZone, unconfirmedZoneReason } from './sync/rollup-days.ts'
export { syncReferencedRows, type WebhookDeps } from './sync/rows-by-id.ts'
export { createRunStats } from './sync/run.ts'
export { runSync, type SyncResult } from './sync/sync.ts'
export { type AuditDeps, runAudit } from './verify/audit.ts'
export { auditedChild } from './verify/compare-parent.ts'
export { runVerify } from './verify/verify.ts'
export { runVerifySample } from './verify/verify-sample.ts'
