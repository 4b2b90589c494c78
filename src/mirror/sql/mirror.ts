/** The mirror of one project, in SQL. */
import type { DatabaseKind } from '../../../schema/column-types.ts'
import type { ProjectId } from '../../values/project.ts'
import type { EpochMs } from '../../values/time.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { createProjectDb } from '../../warehouse/project-db.ts'
import { createStatisticsUpdater } from '../../warehouse/statistics.ts'
import type { MirrorCommit, StreamReport, SyncMode, SyncOutcome } from '../core/mirror.ts'
import { readRollups } from './analytics-rollups.ts'
import { createPageCommitter } from './commit-page.ts'
import { recheckSet } from './conversation-changes.ts'
import { readCursor, writeCursors } from './cursors.ts'
import { markDeleted } from './deletion.ts'
import { backfillColumns } from './discovered-columns/backfill-columns.ts'
import { createDiscoveredFields } from './discovered-columns/discovered-fields.ts'
import { countFutureRows, markFutureDatedPending } from './future-rows.ts'
import { listOpenGaps, resolveGaps } from './gaps.ts'
import { readBehaviours } from './learned-behaviours.ts'
import {
  correctFutureDueTimes,
  countPendingParents,
  markChildrenPending,
  readPendingParents,
  recordChildFailure,
  requestFullRereads,
} from './pending-children.ts'
import { createSerialQueue, inTransaction, type ProjectContext } from './project-context.ts'
import { earliestTime, latestMessageTime, nthNewestCallTime, readErased, readRawById, readRows } from './reader.ts'
import { rewriteRawFor } from './rewrite-raw.ts'
import {
  countUnseenRows,
  forgetSeenRows,
  listIdSet,
  listUnseenIds,
  listUnseenRows,
  removeFromIdSet,
} from './seen-rows.ts'
import { finishRun, readStreamStatuses, recordRunHeartbeat, startRun } from './sync-runs.ts'
import { createUpsert } from './upsert.ts'

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

export type Mirror = ReturnType<typeof createMirror>

export function createMirror(
  db: Db,
  kind: DatabaseKind,
  project: ProjectId,
  { schema = 'discover', lockToken, clock }: MirrorOptions,
) {
  let runId: string | null = null
  const projectDb = createProjectDb(db, kind, project, clock)
  const context: ProjectContext = {
    ...projectDb,
    escapeCount: { escaped: 0 },
    upsert: createUpsert(db, kind, projectDb.clock),
    fields: createDiscoveredFields({ db, kind, project, schema }),
    runSerially: createSerialQueue(),
    currentRunId: () => runId,
  }
  const commit = createPageCommitter(context)
  const statistics = createStatisticsUpdater(db, kind)
  return {
    ...createReads(context),
    ...createWrites(context),
    commit: async (page: MirrorCommit) => {
      const committed = await commit(page)
      if (committed.changed > 0) await statistics.rowsStored(committed.changed)
      return committed
    },
    startRun: async (mode: SyncMode, now: EpochMs) => {
      context.fields.invalidate()
      runId = await startRun(context, mode, now, lockToken)
      // What is filled from `raw` may show values that need a still wider column: at most twice, to a number and to text.
      for (let round = 0; schema === 'discover' && round < 3; round++) {
        const hasWidened = await context.fields.widenRemembered(now)
        if (round === 0 || hasWidened) await backfillColumns(context)
        else break
      }
      await rewriteRawFor(db, kind, maxRewriteMs)
      return runId
    },
    finishRun: async (id: string, outcome: SyncOutcome, reports: readonly StreamReport[], now: EpochMs) => {
      await finishRun(context, id, outcome, reports, now)
      await statistics.runEnded()
    },
  }
}

/** The part that only reads. */
function createReads(context: ProjectContext) {
  return {
    readCursor: readCursor.bind(null, context),
    readBehaviours: readBehaviours.bind(null, context),
    readPendingParents: readPendingParents.bind(null, context),
    countPendingParents: countPendingParents.bind(null, context),
    countFutureRows: countFutureRows.bind(null, context),
    listUnseenIds: listUnseenIds.bind(null, context),
    listUnseenRows: listUnseenRows.bind(null, context),
    countUnseenRows: countUnseenRows.bind(null, context),
    listRowsToRecheck: listIdSet.bind(null, context, recheckSet),
    nthNewestCallTime: nthNewestCallTime.bind(null, context),
    earliestTime: earliestTime.bind(null, context),
    latestMessageTime: latestMessageTime.bind(null, context),
    readRollups: readRollups.bind(null, context),
    readStreamStatuses: readStreamStatuses.bind(null, context),
    listOpenGaps: listOpenGaps.bind(null, context),
    readRows: readRows.bind(null, context),
    readRawById: readRawById.bind(null, context),
    readErased: readErased.bind(null, context),
  }
}

type Write<A extends unknown[], T> = (context: ProjectContext, ...args: A) => Promise<T>

/** Writes outside of a page's commit. Those that touch several tables are one transaction. */
function createWrites(context: ProjectContext) {
  const serially =
    <A extends unknown[], T>(write: Write<A, T>) =>
    (...args: A) =>
      context.runSerially(() => write(context, ...args))
  const inOneTransaction = <A extends unknown[], T>(write: Write<A, T>) =>
    serially((_, ...args: A) => inTransaction(context, (trx) => write(trx, ...args)))
  return {
    writeCursor: inOneTransaction((trx, name: string, position: string | null) =>
      writeCursors(trx, { [name]: position }),
    ),
    recordChildFailure: inOneTransaction(recordChildFailure),
    correctFutureDueTimes: serially(correctFutureDueTimes),
    requestFullRereads: serially(requestFullRereads),
    markFutureDatedPending: serially(markFutureDatedPending),
    markChildrenPending: inOneTransaction(markChildrenPending),
    forgetSeenRows: forgetSeenRows.bind(null, context),
    clearRecheck: inOneTransaction((trx, ids: readonly string[]) => removeFromIdSet(trx, recheckSet, ids)),
    markDeleted: inOneTransaction(markDeleted),
    resolveGaps: serially(resolveGaps),
    heartbeat: recordRunHeartbeat.bind(null, context),
  }
}
