/** Status, failing jobs, workers, retention, erasure. */

export { createValueCollector } from './core/erased-values.ts'
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
export {
  type Announced,
  describeEvent,
  describeNews,
  diskCondition,
  keyOf,
  planNotifications,
  weekCondition,
} from './core/notifications.ts'
export {
  acceptMove,
  beginMove,
  type CopiedTable,
  copyProjects,
  endMove,
  type MovePlan,
  planMove,
} from './move-projects.ts'
export { type RemainsReport, searchRemains, searchWarehouse } from './search-remains.ts'
export { compactRewritten } from './sql/compact.ts'
export { countErased, type ErasedRows, erase, finishErasure } from './sql/erase.ts'
export {
  countOpenWritebacks,
  countProjectRows,
  eraseProject,
  finishProjectErasure,
  keptWhileConfigured,
  type ProjectErasure,
  readProjectErasure,
  type TableProgress,
} from './sql/erase-project.ts'
export type { MoveSide } from './sql/move-rows.ts'
export { listAnnounced, readConditions, storeAnnounced } from './sql/notifications.ts'
export {
  isCircuitOpen,
  markSynced,
  type ProjectHealth,
  type ProjectRuns,
  readProjectStates,
  readRuns,
  readStreamStates,
} from './sql/project-states.ts'
export {
  listMirroredProjects,
  listPaused,
  listWithWritebacks,
  readPause,
  recordBudgetLoss,
  setPause,
} from './sql/projects.ts'
export { deleteExpired, deleteOldRecords, recordRetentionMs } from './sql/retention.ts'
export { type DescribePlace, placeOf } from './sql/search-tables.ts'
export {
  listNotified,
  readBehaviours,
  readGaps,
  readProjectState,
  readStatus,
  type StatusReport,
} from './sql/status-report.ts'
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
