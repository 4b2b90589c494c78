/** The mirror of one project, in SQL. */
import type { EpochMs } from '../../values/time.ts'
import { type OfProject, ofProject, type ProjectDb } from '../../warehouse/project-db.ts'
import { retryAllMethods } from '../../warehouse/retry.ts'
import { createStatisticsUpdater } from '../../warehouse/statistics.ts'
import type { MirrorCommit, StreamReport, SyncMode, SyncOutcome } from '../core/mirror.ts'
import { readRollups } from './analytics-rollups.ts'
import { createPageCommitter } from './commit-page.ts'
import { recheckSet } from './conversation-changes.ts'
import { markDeleted } from './deletion.ts'
import { backfillColumns } from './discovered-columns/backfill-columns.ts'
import { createDiscoveredFields } from './discovered-columns/discovered-fields.ts'
import { type ShowColumns, showColumnsWith } from './discovered-columns/widen-column.ts'
import { listOpenGaps, resolveGaps } from './gaps.ts'
import {
  correctFutureDueTimes,
  countPendingParents,
  markChildrenPending,
  markFutureDatedPending,
  readPendingParents,
  recordChildFailure,
  requestFullRereads,
} from './pending-children.ts'
import { inTransaction, type ProjectContext } from './project-context.ts'
import {
  countFutureRows,
  earliestTime,
  latestMessageTime,
  nthNewestCallTime,
  readErased,
  readRawById,
  readRows,
} from './reader.ts'
import { rewriteRaw } from './rewrite-raw.ts'
import {
  countUnseenRows,
  forgetSeenRows,
  listIdSet,
  listUnseenIds,
  listUnseenRows,
  removeFromIdSet,
} from './seen-rows.ts'
import { finishRun, readStreamStatuses, recordRunHeartbeat, startRun } from './sync-runs.ts'
import { readBehaviours, readCursor, writeCursors } from './sync-state.ts'

export type MirrorOptions = {
  /** `freeze`: undocumented fields get no columns; they stay in `raw`. */
  readonly schema?: 'discover' | 'freeze'
  /** Token of the lock under which its runs are made. */
  readonly lockToken?: string
  /** Milliseconds since 1970. */
  readonly clock?: () => number
}

/** How long a run rewrites rows of older versions before it begins. */
const maxRewriteMs = 2000

const reads = {
  readCursor,
  readBehaviours,
  readPendingParents,
  countPendingParents,
  countFutureRows,
  listUnseenIds,
  listUnseenRows,
  countUnseenRows,
  listRowsToRecheck: (context: ProjectDb, limit: number) => listIdSet(context, recheckSet, limit),
  nthNewestCallTime,
  earliestTime,
  latestMessageTime,
  readRollups,
  readStreamStatuses,
  listOpenGaps,
  readRows,
  readRawById,
  readErased,
}

/** Writes outside of a page's commit. Each is a transaction. */
const writes = {
  writeCursor: (trx: ProjectDb, name: string, position: string | null) => writeCursors(trx, { [name]: position }),
  recordChildFailure,
  correctFutureDueTimes,
  requestFullRereads,
  markFutureDatedPending,
  markChildrenPending,
  forgetSeenRows,
  clearRecheck: (trx: ProjectDb, ids: readonly string[]) => removeFromIdSet(trx, recheckSet, ids),
  markDeleted,
  resolveGaps,
}

type Write = (trx: ProjectDb, ...args: never[]) => Promise<unknown>

export type Mirror = ReturnType<typeof createMirror>

export function createMirror(
  projectDb: ProjectDb,
  { schema = 'discover', lockToken, clock = Date.now }: MirrorOptions,
  showDiscoveredColumns: ShowColumns,
) {
  const { db, kind, project, retry } = projectDb
  let runId: string | null = null
  const showColumns = showColumnsWith(showDiscoveredColumns)
  const fields = createDiscoveredFields({ db, kind, project, schema, showColumns })
  const context: ProjectContext = { ...projectDb, clock, fields, currentRunId: () => runId }
  let lastWrite: Promise<unknown> = Promise.resolve()
  /** Starts each write when the one before has ended, whether it succeeded or failed: each is short, and none waits for a lock. */
  const runSerially = <T>(write: () => Promise<T>): Promise<T> => {
    const current = lastWrite.then(write)
    lastWrite = current.catch(() => {})
    return current
  }
  const inTransactions = Object.entries<Write>(writes).map(([name, write]) => [
    name,
    (...args: never[]) => runSerially(() => inTransaction(context, (trx) => write(trx, ...args))),
  ])
  const commit = createPageCommitter(context, runSerially)
  const statistics = createStatisticsUpdater(db, kind)
  const mirror = {
    ...ofProject(context, reads),
    ...(Object.fromEntries(inTransactions) as OfProject<typeof writes>),
    commit: async (page: MirrorCommit) => {
      const committed = await commit(page)
      if (committed.changed > 0) await statistics.rowsStored(committed.changed)
      return committed
    },
    startRun: async (mode: SyncMode, now: EpochMs) => {
      fields.invalidate()
      runId = await startRun(context, mode, now, lockToken)
      // What is filled from `raw` may show values that need a still wider column: at most twice, to a number and to text.
      for (let round = 0; schema === 'discover' && round < 3; round++) {
        const hasWidened = await fields.widenRemembered(now)
        if (round === 0 || hasWidened) await backfillColumns(context)
        else break
      }
      const until = performance.now() + maxRewriteMs
      await rewriteRaw(db, kind, { isOver: () => performance.now() > until })
      return runId
    },
    finishRun: async (id: string, outcome: SyncOutcome, reports: readonly StreamReport[], now: EpochMs) => {
      await finishRun(context, id, outcome, reports, now)
      await statistics.runEnded()
    },
  }
  return {
    ...retryAllMethods(retry, mirror),
    /** Not retried: the next one follows a second later. */
    heartbeat: async (id: string, requests: number, now: EpochMs) => {
      if (!retry.isWarehouseAway()) await recordRunHeartbeat(context, id, requests, now)
    },
  }
}
