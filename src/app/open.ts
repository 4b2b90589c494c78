/** Opens the warehouse that a URL names and migrates its schema. */
import type { DatabaseKind } from '../../schema/column-types.ts'
import { runOn } from '../../schema/create-missing.ts'
import { grantToAnalyst } from '../analytics/sql/grant.ts'
import { createProjectFacts } from '../analytics/sql/project-facts.ts'
import { readReportData } from '../analytics/sql/report-data.ts'
import { explainDependentView, showDiscoveredColumns, updateAnalyticsViews } from '../analytics/sql/views.ts'
import type { ExportSnapshot } from '../export/export.ts'
import { withSnapshot } from '../export/sql/snapshot.ts'
import { createErasure } from '../maintenance/sql/erase.ts'
import { createProjects, listMirroredProjects } from '../maintenance/sql/projects.ts'
import { deleteExpired } from '../maintenance/sql/retention.ts'
import { listGaps, readStatus } from '../maintenance/sql/status.ts'
import { createStreamStates } from '../maintenance/sql/stream-states.ts'
import { createJobFailures, createWorkers } from '../maintenance/sql/workers.ts'
import type { MirrorOptions } from '../mirror/mirror.ts'
import { createAuditStore, deleteAudits } from '../mirror/sql/audits.ts'
import { createMirror } from '../mirror/sql/mirror.ts'
import { requireActivityKeys, rewriteActivityKeys } from '../mirror/sql/rewrite-activity-keys.ts'
import { rewriteRows } from '../mirror/sql/rewrite-raw.ts'
import { rememberRowCounts } from '../mirror/sql/row-counts.ts'
import { acquireStreamLocks } from '../mirror/sql/stream-locks.ts'
import { deleteIdleRuns } from '../mirror/sql/sync-runs.ts'
import { readBehaviours, recordBehaviours } from '../mirror/sql/sync-state.ts'
import { createDeliveries } from '../mirror/sql/webhook-deliveries.ts'
import type { Outbox } from '../outbox/outbox.ts'
import { createAuditLog } from '../outbox/sql/audit-log.ts'
import { createOutbox } from '../outbox/sql/outbox.ts'
import { createSends } from '../outbox/sql/sends.ts'
import { createBudgetRecords } from '../service/sql/budget-records.ts'
import { createBudgetHistory, recordRequests } from '../service/sql/request-counts.ts'
import type { ProjectId } from '../values/project.ts'
import { type EpochMs, toTimestamp } from '../values/time.ts'
import { type ConnectionPool, type Db, openKysely } from '../warehouse/connection-pool.ts'
import { readClock } from '../warehouse/dialect.ts'
import { type MigrationSummary, migrate, requireCurrentSchema } from '../warehouse/migrate.ts'
import { openDatabase, type WarehouseOptions } from '../warehouse/open-database.ts'
import { ofProject as bindProject, createProjectDb, type ProjectDb } from '../warehouse/project-db.ts'
import { analyzeAllTables } from '../warehouse/statistics.ts'
import { withSnapshotOf } from '../warehouse/transactions.ts'

export type Warehouse = Readonly<ReturnType<typeof assembleWarehouse>>

/** `sqlite:PATH` or `postgres://…`. Throws UserError. */
export function openWarehouse(url: string, options: WarehouseOptions = {}): Promise<Warehouse> {
  return openDatabase(url, options, (pool) => createWarehouse(pool, options))
}

/** For connections that are already open; closes them if this fails. */
export async function createWarehouse(pool: ConnectionPool, options: WarehouseOptions = {}): Promise<Warehouse> {
  const db = openKysely(pool)
  try {
    return assembleWarehouse(pool, db, await prepareSchema(db, pool.kind, options))
  } catch (error) {
    await pool.close()
    throw error
  }
}

/**
 * Brings the schema to this version, and rows that only this version can read. A reader changes nothing, and throws UserError
 * if the database is of an older version.
 */
async function prepareSchema(db: Db, kind: DatabaseKind, { access, keys }: WarehouseOptions) {
  if (access === 'read') {
    await requireCurrentSchema(db, kind)
    await requireActivityKeys(db)
    return null
  }
  const migration = await migrate(db, kind, (trx) => updateAnalyticsViews(trx, kind)).catch((error: unknown) => {
    throw explainDependentView(error)
  })
  if (keys !== 'later') await rewriteActivityKeys(db, kind)
  return migration
}

function assembleWarehouse(pool: ConnectionPool, db: Db, migration: MigrationSummary | null) {
  const { kind } = pool
  const budgets = createBudgetRecords(pool)
  const projectDb = (project: ProjectId) => createProjectDb(db, kind, project)
  const ofProject =
    <A extends unknown[], R>(call: (context: ProjectDb, ...args: A) => R) =>
    (project: ProjectId, ...args: A): R =>
      call(projectDb(project), ...args)
  return {
    kind,
    /** What opening did to the schema; null for a reader. */
    migration,
    /** For what a module of its own reads of the project. */
    projectDb,
    /** Rewrites the rows that a migration has left to be rewritten. */
    rewriteRows: rewriteRows.bind(null, db, kind),
    mirror: (project: ProjectId, options: MirrorOptions = {}) =>
      createMirror(db, kind, project, options, showDiscoveredColumns),
    /** The facts of the project for analysts, by these settings. */
    facts: ofProject(createProjectFacts),
    /** The project's queue of write-backs. */
    outbox: ofProject(createOutbox),
    /** Reads of one state of the database. `work` must not use the warehouse otherwise meanwhile. */
    outboxSnapshot: <T>(project: ProjectId, work: (outbox: Outbox) => Promise<T>): Promise<T> =>
      withSnapshotOf(db, kind, (frozen) => work(createOutbox(createProjectDb(frozen, kind, project)))),
    /** The clock by which decisions, graces, expiries and claims go. */
    readClock: readClock.bind(null, db, kind),
    /** How often the project has sent, and whether sending is held. */
    sends: ofProject(createSends),
    /** Locks streams of the project for this process, and closes runs of dead processes. */
    lockStreams: ofProject(acquireStreamLocks),
    /** What was learned about the service. */
    behaviours: ofProject((context) => bindProject(context, { read: readBehaviours, record: recordBehaviours })),
    status: ofProject(readStatus),
    /** Remembers how many rows a stream has, for `status`. */
    rememberRowCounts: ofProject(rememberRowCounts),
    /** Lets a role of Postgres read the objects for analysts. Throws UserError for SQLite. */
    grantToAnalyst: grantToAnalyst.bind(null, db, kind),
    /** The numbers of a report. Null: no facts of the project have been derived yet. */
    reportData: readReportData.bind(null, db, kind),
    /** Random samples of the project's mirror that are read again. */
    audits: ofProject(createAuditStore),
    /** Deletes audits that ended before that. */
    deleteAudits: deleteAudits.bind(null, db),
    auditLog: createAuditLog(db),
    budgetHistory: createBudgetHistory(db),
    /** The projects that anything has been read of, with the time zone of their facts. */
    listProjects: listMirroredProjects.bind(null, db),
    /** The project's open gaps, oldest first, up to a thousand. */
    listGaps: listGaps.bind(null, db),
    /** The request budget of that name, shared by all processes that have this warehouse open. */
    budgetRecord: budgets.record,
    /** When the key of that budget was last used, wherever the budget is stored. */
    keyUse: budgets.keyUse,
    /** What keeps the jobs of this installation apart from those of others in the same queue. */
    installationId: async (): Promise<string> =>
      (await db.selectFrom('sync_installation').select('id').executeTakeFirstOrThrow()).id,
    workers: createWorkers(db),
    projects: createProjects(db),
    streamStates: createStreamStates(db),
    jobFailures: createJobFailures(db),
    /** Records how many requests something other than a sync run has sent so far. */
    recordRequests: recordRequests.bind(null, db),
    deliveries: createDeliveries(db, kind),
    /** Updates the statistics of all tables, which query planners need. */
    analyzeTables: analyzeAllTables.bind(null, db, kind),
    /** Runs one SQL statement; rows as the database returns them. */
    query: runOn(db),
    /** Reads tables and views as they are when `work` begins. It must not use the warehouse otherwise meanwhile. */
    withSnapshot: <T>(work: (snapshot: ExportSnapshot) => Promise<T>): Promise<T> => withSnapshot(db, pool, work),
    /** Deletes runs that changed nothing and are older than that; returns how many. */
    deleteIdleRuns: (olderThan: EpochMs) => deleteIdleRuns(db, toTimestamp(olderThan)),
    /** Erases a visitor of the project. */
    erasure: ofProject(createErasure),
    /** Deletes what has been kept long enough. */
    deleteExpired: deleteExpired.bind(null, db, kind),
    /** Rejects if the database does not answer. */
    ping: async (): Promise<void> => void (await runOn(db)('select 1')),
    close: async (): Promise<void> => {
      await budgets.close()
      await pool.close()
    },
  }
}
