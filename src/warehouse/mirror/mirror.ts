/** The mirror of one project: implements the core's port `Mirror` in SQL. */
import type { Mirror, MirrorReader } from '../../core/mirror.ts'
import type { ConnectionPool, Db } from '../database/connection-pool.ts'
import { createStatisticsUpdater } from '../database/statistics.ts'
import { backfillColumns } from '../discovered-columns/backfill-columns.ts'
import { createDiscoveredFields } from '../discovered-columns/discovered-fields.ts'
import { readRollups } from './analytics-rollups.ts'
import { createPageCommitter } from './commit-page.ts'
import { recheckSet } from './conversation-changes.ts'
import { readCursor, writeCursors } from './cursors.ts'
import { markDeleted } from './deletion.ts'
import type { EscapeCount } from './encode-value.ts'
import { countFutureRows, markFutureDatedPending } from './future-rows.ts'
import { listOpenGaps, resolveGaps } from './gaps.ts'
import { readBehaviours } from './learned-behaviours.ts'
import {
  countPendingChildren,
  markKnownPending,
  readPendingChildren,
  recordChildFailure,
  requestFullReads,
} from './pending-children.ts'
import { createSerialQueue, inTransaction, type ProjectContext } from './project-context.ts'
import { earliestTime, latestMessageTime, nthNewestCallTime, readRawById, readRows } from './reader.ts'
import { countUnseenRows, forgetSeenRows, listSeenRows, listUnseenRows, removeSeenRows } from './seen-rows.ts'
import { finishRun, readStreamStandings, recordRunHeartbeat, startRun } from './sync-runs.ts'
import { createUpsert } from './upsert.ts'

export type MirrorOptions = {
  /** `freeze`: undocumented fields get no columns; they stay in `raw`. */
  readonly schema?: 'discover' | 'freeze'
  /** Token of the lock under which its runs are made. */
  readonly holder?: string
  /** Milliseconds since 1970. */
  readonly clock?: () => number
}

export function createMirror(
  db: Db,
  { kind }: ConnectionPool,
  project: string,
  options: MirrorOptions,
): Mirror & MirrorReader {
  let runId: string | null = null
  const schema = options.schema ?? 'discover'
  const escapeCount: EscapeCount = { escaped: 0 }
  const context: ProjectContext = {
    db,
    kind,
    project,
    escapeCount,
    upsert: createUpsert(db, kind),
    fields: createDiscoveredFields({ db, kind, project, schema }),
    clock: options.clock ?? Date.now,
    runSerially: createSerialQueue(),
    currentRunId: () => runId,
  }
  const commit = createPageCommitter(context)
  const statistics = createStatisticsUpdater(db, kind)
  return {
    ...createReads(context),
    commit: async (page) => {
      const committed = await commit(page)
      if (committed.changed > 0) await statistics.rowsStored(committed.changed)
      return committed
    },
    writeCursor: (name, position) =>
      context.runSerially(() => inTransaction(context, (trx) => writeCursors(context, trx, { [name]: position }))),
    recordChildFailure: (stream, parentId, why, againAt) =>
      context.runSerially(() => recordChildFailure(context, stream, parentId, why, againAt)),
    requestFullReads: (stream, which, now) => context.runSerially(() => requestFullReads(context, stream, which, now)),
    markFutureDatedPending: (cursorLimit, limit, now) =>
      context.runSerially(() => markFutureDatedPending(context, cursorLimit, limit, now)),
    markChildrenPending: (stream, ids, now) =>
      context.runSerially(() => inTransaction(context, (trx) => markKnownPending(context, trx, stream, ids, now))),
    forgetSeenRows: (key) => forgetSeenRows(context, key),
    clearRecheck: (ids) =>
      context.runSerially(() => inTransaction(context, (trx) => removeSeenRows(context, trx, recheckSet, ids))),
    markDeleted: (stream, id, at) => context.runSerially(() => markDeleted(context, stream, id, at)),
    resolveGaps: (stream, since) => context.runSerially(() => resolveGaps(context, stream, since)),
    startRun: async (mode, now) => {
      context.fields.invalidate()
      runId = await startRun(context, mode, now, options.holder)
      if (schema === 'discover') await backfillColumns(context)
      return runId
    },
    heartbeat: (id, requests, now) => recordRunHeartbeat(context, id, requests, now),
    finishRun: async (id, outcome, reports, now) => {
      await finishRun(context, id, outcome, reports, now)
      await statistics.runEnded()
    },
  }
}

/** The part of the mirror that only reads. */
function createReads(context: ProjectContext) {
  return {
    readCursor: (name) => readCursor(context, name),
    behaviours: () => readBehaviours(context),
    readPendingChildren: (stream, now, limit) => readPendingChildren(context, stream, now, limit),
    countPendingChildren: (stream, now) => countPendingChildren(context, stream, now),
    countFutureRows: (stream, cursorLimit, limit) => countFutureRows(context, stream, cursorLimit, limit),
    listUnseenRows: (stream, key, scope, after, limit) => listUnseenRows(context, stream, key, scope, after, limit),
    countUnseenRows: (stream, key, scope) => countUnseenRows(context, stream, key, scope),
    listRowsToRecheck: (limit) => listSeenRows(context, recheckSet, limit),
    nthNewestCallTime: (newest, until) => nthNewestCallTime(context, newest, until),
    earliestTime: () => earliestTime(context),
    latestMessageTime: () => latestMessageTime(context),
    rollups: () => readRollups(context),
    readStreamStandings: (streams) => readStreamStandings(context, streams),
    listOpenGaps: (stream) => listOpenGaps(context, stream),
    readRows: (stream, after, limit, parent) => readRows(context, stream, after, limit, parent),
    rawOf: (stream, ids) => readRawById(context, stream, ids),
  } satisfies Partial<Mirror & MirrorReader>
}
