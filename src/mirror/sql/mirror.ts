/** The mirror of one project, in SQL. */
import { createTurns } from '../../values/turns.ts'
import { type OfProject, ofProject, type ProjectDb } from '../../warehouse/project-db.ts'
import { retryAllMethods } from '../../warehouse/retry.ts'
import { createStatisticsUpdater } from '../../warehouse/statistics.ts'
import { inTransaction } from '../../warehouse/transactions.ts'
import { readRollups } from './analytics-rollups.ts'
import { beginColumns, cleanColumns } from './clean-columns.ts'
import { createPageCommitter } from './commit-page.ts'
import { doubtUnseenRows, endDeletionDoubt, markDeleted } from './deletion.ts'
import { completeColumns } from './discovered-columns/backfill-columns.ts'
import {
  createDiscoveredFields,
  type DiscoveryOptions,
} from './discovered-columns/discovered-fields.ts'
import { findWrongColumns, listFormerColumns } from './discovered-columns/wrong-columns.ts'
import { listOpenGaps, resolveGaps } from './gaps.ts'
import {
  markListsIncomplete,
  readCompleteLists,
  readLongestLists,
  rereadUnlisted,
} from './list-lengths.ts'
import { earliestTime, latestMessageTime } from './mirror-state.ts'
import {
  correctFutureDueTimes,
  countPendingParents,
  markChildrenPending,
  markFutureDatedPending,
  readPendingParents,
  recordChildFailure,
  requestFullRereads,
} from './pending-children.ts'
import {
  countFutureRows,
  findErasedRows,
  nextCallTime,
  nthNewestCallTime,
  readErased,
  readRawById,
  readRows,
} from './reader.ts'
import {
  countOpenUntil,
  countUnseenRows,
  forgetSeenRows,
  listIdSet,
  listMissingVisitors,
  listUnseenIds,
  listUnseenRows,
  recheckSet,
  removeFromIdSet,
} from './seen-rows.ts'
import {
  finishRun,
  type ProjectContext,
  readStreamStatuses,
  recordRunHeartbeat,
  startRun,
} from './sync-runs.ts'
import {
  findUnseenRules,
  readBehaviours,
  readColumnChanges,
  readColumnStates,
  readCursor,
  readFields,
  rememberSeenRules,
  writeCursors,
} from './sync-state.ts'

export type MirrorOptions = {
  /** `freeze`: undocumented fields get no columns; they stay in `raw`. */
  readonly schema?: 'discover' | 'freeze'
  /** The lists whose replaced versions are kept. */
  readonly history?: ProjectContext['history']
  /** The rules that the rows of its commits follow. */
  readonly columns?: ProjectContext['columns']
  /** Token of the lock under which its runs are made. */
  readonly lockToken?: string
}

const reads = {
  readCursor,
  readBehaviours,
  readPendingParents,
  countPendingParents,
  readLongestLists,
  readCompleteLists,
  countFutureRows,
  listMissingVisitors,
  listUnseenIds,
  listUnseenRows,
  countOpenUntil,
  countUnseenRows,
  listRowsToRecheck: (context: ProjectDb, limit: number) => listIdSet(context, recheckSet, limit),
  nextCallTime,
  nthNewestCallTime,
  earliestTime,
  latestMessageTime,
  readRollups,
  readStreamStatuses,
  listOpenGaps,
  readRows,
  readRawById,
  readErased,
  findErasedRows,
  listFormerColumns,
  findWrongColumns,
  readColumnStates,
  readColumnChanges,
  readFields,
  findUnseenRules,
}

/** Writes outside of a page's commit. Each is a transaction. */
const writes = {
  writeCursor: (trx: ProjectDb, name: string, position: string | null) =>
    writeCursors(trx, { [name]: position }),
  recordChildFailure,
  correctFutureDueTimes,
  requestFullRereads,
  markChildrenPending,
  markFutureDatedPending,
  markListsIncomplete,
  rereadUnlisted,
  forgetSeenRows,
  clearRecheck: (trx: ProjectDb, ids: readonly string[]) => removeFromIdSet(trx, recheckSet, ids),
  markDeleted,
  doubtUnseenRows,
  endDeletionDoubt,
  resolveGaps,
  rememberSeenRules,
}

type Tail<F> = F extends (context: never, ...rest: infer R) => unknown ? R : never

export type Mirror = ReturnType<typeof createMirror>

export function createMirror(
  projectDb: ProjectDb,
  { schema = 'discover', history = [], columns, lockToken }: MirrorOptions,
  showDiscovered: DiscoveryOptions['showDiscovered'],
) {
  const { db, kind, project, retry } = projectDb
  const fields = createDiscoveredFields({ db, kind, project, schema, showDiscovered })
  const run: ProjectContext['run'] = { id: null }
  const context: ProjectContext = { ...projectDb, fields, history, columns, run }
  // Each write is short, and none waits for a lock.
  const runSerially = createTurns()
  const inTransactions = Object.entries<(trx: ProjectDb, ...args: never[]) => Promise<unknown>>(
    writes,
  ).map(([name, write]) => [
    name,
    (...args: never[]) => runSerially(() => inTransaction(context, (trx) => write(trx, ...args))),
  ])
  const statistics = createStatisticsUpdater(db, kind)
  const mirror = {
    ...ofProject(context, reads),
    ...(Object.fromEntries(inTransactions) as OfProject<typeof writes>),
    beginColumns: (...change: Tail<typeof beginColumns>) =>
      runSerially(() => beginColumns(context, ...change)),
    cleanColumns: (...of: Tail<typeof cleanColumns>) =>
      runSerially(() => cleanColumns(context, ...of)),
    commit: createPageCommitter(context, runSerially, statistics.rowsStored),
    startRun: async (...[mode, now]: Tail<typeof startRun>) => {
      fields.invalidate()
      const id = await startRun(context, mode, now, lockToken)
      run.id = id
      if (schema === 'discover') await completeColumns(context, now)
      return id
    },
    finishRun: async (...run: Tail<typeof finishRun>) => {
      await finishRun(context, ...run)
      await statistics.runEnded()
    },
  }
  return {
    ...retryAllMethods(retry, mirror),
    /** Not retried: the next one follows a second later. */
    heartbeat: async (...beat: Tail<typeof recordRunHeartbeat>) => {
      if (!retry.isWarehouseAway()) await recordRunHeartbeat(context, ...beat)
    },
  }
}
