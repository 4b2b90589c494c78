/**
 * What keeps a warehouse in order and says how it is: status, failing jobs, workers, retention, erasure.
 */
export {
  type FailingJob,
  failedStream,
  failedSync,
  isExpired,
  isStreamFailing,
  type JobFailure,
  type JobIdentity,
  type JobKind,
} from './core/job-failure.ts'
export type { StatusReport } from './core/reports.ts'
export { createErasure, type ErasedRows } from './sql/erase.ts'
export { noSyncState, type ProjectHealth, readProjectStates, readStreamStates } from './sql/health.ts'
export {
  countWithoutProject,
  listMirroredProjects,
  listPaused,
  listWithWritebacks,
  readPause,
  readProjectIncidents,
  recordBudgetLoss,
  setPause,
} from './sql/projects.ts'
export { deleteExpired } from './sql/retention.ts'
export { countBlockedLanes, countWritebacks, listGaps, readBehaviours, readStatus } from './sql/status.ts'
export { listAllPendingStreams, markSynced, type ProjectRuns, readRuns } from './sql/stream-states.ts'
export {
  clearJobFailure,
  doWorkersDiffer,
  listFailures,
  listLiveWorkers,
  readInstallationId,
  recordJobFailure,
  recordWorkerHeartbeat,
  removeWorker,
} from './sql/workers.ts'
