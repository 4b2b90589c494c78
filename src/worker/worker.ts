/**
 * What one worker process does with its jobs: slices of syncs and lanes, audits, housekeeping, and
 * what it counts.
 */
export { runAuditJob } from './audit-job.ts'
export { createJobFailures, createRepeatFilter, type JobFailures } from './job-failures.ts'
export type { LaneSliceResult } from './outbox-lanes.ts'
export {
  areRollupsBehind,
  markSyncedAndListPending,
  readLastCompletions,
  readMirrorHealth,
  readWarehouseStorage,
  runHousekeeping,
} from './project-health.ts'
export { runSyncSlice, type SyncSliceResult } from './sync-slice.ts'
export { openWorkerContext, type WorkerContext } from './worker-context.ts'
