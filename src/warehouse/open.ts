/** Opens the warehouse that a URL names and migrates its schema. Errors say what a person can do about them. */
import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { sql } from 'kysely'
import type { LocalDate } from '../core/analytics/fact-rows.ts'
import type { ExportSnapshot } from '../core/export.ts'
import type { BudgetPolicy } from '../core/rate-limit/budget.ts'
import type { ReportPeriod } from '../core/report-period.ts'
import type { ServiceBehaviour } from '../core/row.ts'
import type { StreamName } from '../core/stream-specs.ts'
import { type EpochMs, toTimestamp } from '../core/time.ts'
import { UserError } from '../core/user-error.ts'
import type { FactsSettings } from './analytics/facts-state.ts'
import { grantToAnalyst } from './analytics/grant.ts'
import { createProjectFacts } from './analytics/project-facts.ts'
import { readReportData } from './analytics/report-data.ts'
import { createRollupComparison } from './analytics/rollup-comparison.ts'
import { createAuditStore, deleteAudits } from './audits.ts'
import { createBudgetRecords } from './budget-records.ts'
import { createAuditLog } from './console/audit-log.ts'
import { createBudgetHistory } from './console/budget.ts'
import { createConsoleReads } from './console/console-reads.ts'
import { type ConnectionPool, type Db, type LocalReads, openKysely } from './database/connection-pool.ts'
import { explainOpenError, explainRuntimeError, WarehouseError } from './database/explain-error.ts'
import { type DatabaseLocation, parseDatabaseUrl } from './database/location.ts'
import { EmptyWarehouseError, type MigrationSummary, migrate, requireCurrentSchema } from './database/migrate.ts'
import { createProjectDb } from './database/project-db.ts'
import { openSqlitePool } from './database/sqlite.ts'
import { openSqliteThread } from './database/sqlite-thread.ts'
import { analyzeAllTables } from './database/statistics.ts'
import { withSnapshot } from './export/snapshot.ts'
import { createJobFailures } from './job-failures.ts'
import { readBehaviours, recordBehaviours } from './mirror/learned-behaviours.ts'
import { createMirror, type MirrorOptions } from './mirror/mirror.ts'
import { type RewriteOptions, rewriteRaw } from './mirror/rewrite-raw.ts'
import { rememberRowCounts } from './mirror/row-counts.ts'
import { acquireStreamLocks } from './mirror/stream-locks.ts'
import { deleteIdleRuns } from './mirror/sync-runs.ts'
import { createOutboxAdmin } from './outbox/admin.ts'
import { createImportLookups } from './outbox/import-lookups.ts'
import { createOutboxRepository } from './outbox/repository.ts'
import { createRevertSource } from './outbox/revert-source.ts'
import { createReviewReader } from './outbox/review-rows.ts'
import { createProjects, listMirroredProjects } from './projects.ts'
import { type RequestSource, recordRequests } from './request-counts.ts'
import { listGaps, readStatus } from './status.ts'
import { createStreamStates } from './stream-states.ts'
import { createDeliveries } from './webhook-deliveries.ts'
import { createWorkers } from './workers.ts'

export type Warehouse = Readonly<ReturnType<typeof assembleWarehouse>>

export type WarehouseOptions = {
  /** `read`: changes nothing, and rejects a database that nothing has been mirrored into. */
  readonly access?: 'write' | 'read'
  /**
   * Reads by a thread (SQLite) or by few connections (Postgres) that disturb no other work. `brief`: what takes long is
   * given up, in Postgres. Needs `access: 'read'`.
   */
  readonly apart?: 'brief' | 'long'
  /** SQLite only. */
  readonly synchronous?: 'normal' | 'full'
}

/** `sqlite:PATH` or `postgres://…`. Throws UserError. */
export async function openWarehouse(url: string, options: WarehouseOptions = {}): Promise<Warehouse> {
  const { access, apart = null, synchronous = 'normal' } = options
  const location = parseDatabaseUrl(url)
  const isWriter = access !== 'read'
  const path = location.kind === 'sqlite' ? location.path : null
  // A missing folder is a mistake; a missing file only means that there was no sync yet.
  if (!isWriter && path !== null && !existsSync(path) && existsSync(dirname(resolve(path)))) {
    throw new EmptyWarehouseError()
  }
  try {
    const pool = await openPool(location, isWriter, apart, synchronous)
    return await createWarehouse(withExplainedErrors(pool, location), isWriter)
  } catch (error) {
    throw error instanceof UserError && !(error instanceof WarehouseError) ? error : explainOpenError(location, error)
  }
}

async function openPool(
  location: DatabaseLocation,
  isWriter: boolean,
  apart: 'brief' | 'long' | null,
  synchronous: 'normal' | 'full',
): Promise<ConnectionPool> {
  if (location.kind === 'postgres') {
    // Only then: its client takes a while to load.
    const { openPostgresPool, pageLimits } = await import('./database/postgres.ts')
    return openPostgresPool(location.url, isWriter, apart === null ? undefined : pageLimits[apart])
  }
  return apart !== null
    ? openSqliteThread(location.path)
    : openSqlitePool(location.path, { mustExist: !isWriter, synchronous })
}

/** Failures of the database itself become errors for people. Anything else is a bug and is thrown as it is. */
export function withExplainedErrors(pool: ConnectionPool, location: DatabaseLocation): ConnectionPool {
  const explain = (error: unknown): never => {
    throw explainRuntimeError(location, error) ?? error
  }
  return {
    ...pool,
    openSeparate: () => withExplainedErrors(pool.openSeparate(), location),
    acquire: async () => {
      const connection = await pool.acquire().catch(explain)
      const local = connection.local && withExplainedReads(connection.local, explain)
      return { ...connection, ...(local && { local }), run: (...args) => connection.run(...args).catch(explain) }
    },
  }
}

function withExplainedReads(local: LocalReads, explain: (error: unknown) => never): LocalReads {
  return {
    ...local,
    *iterate(text, parameters) {
      try {
        yield* local.iterate(text, parameters)
      } catch (error) {
        explain(error)
      }
    },
  }
}

/** For connections that are already open; closes them if this fails. */
export async function createWarehouse(pool: ConnectionPool, isWriter = true): Promise<Warehouse> {
  const db = openKysely(pool)
  try {
    const migration = isWriter
      ? await migrate(db, pool.kind)
      : await requireCurrentSchema(db, pool.kind).then(() => null)
    return assembleWarehouse(db, pool, migration)
  } catch (error) {
    await db.destroy()
    throw error
  }
}

function assembleWarehouse(db: Db, pool: ConnectionPool, migration: MigrationSummary | null) {
  const { kind } = pool
  const budgets = createBudgetRecords(pool)
  const ofProject = (project: string) => createProjectDb(db, kind, project)
  return {
    kind,
    /** What opening did to the schema; null for a reader. */
    migration,
    /** Rewrites the rows that a migration has left to be rewritten. */
    rewriteRaw: (options: RewriteOptions) => rewriteRaw(db, kind, options),
    mirror: (project: string, options: MirrorOptions = {}) => createMirror(db, kind, project, options),
    /** The facts of the project for analysts, by these settings. */
    facts: (project: string, settings: FactsSettings) => createProjectFacts(ofProject(project), settings),
    /** Compares the service's rollups with counts of our own. */
    rollups: (project: string, settings: FactsSettings, clock?: () => EpochMs) =>
      createRollupComparison(createProjectDb(db, kind, project, clock), settings),
    /** The project's queue of write-backs: for the sender, and for people. */
    outbox: (project: string) => createOutboxRepository(ofProject(project)),
    outboxAdmin: (project: string) => createOutboxAdmin(ofProject(project)),
    revertSource: (project: string) => createRevertSource(ofProject(project)),
    reviewReader: (project: string) => createReviewReader(ofProject(project)),
    importLookups: (project: string) => createImportLookups(ofProject(project)),
    /** Locks streams of the project for this process, and closes runs of dead processes. */
    lockStreams: (project: string, streams: readonly string[], now: EpochMs) =>
      acquireStreamLocks(ofProject(project), streams, now),
    /** What was learned about the service. */
    behaviours: (project: string) => ({
      read: () => readBehaviours(ofProject(project)),
      record: (behaviours: readonly ServiceBehaviour[]) => recordBehaviours(ofProject(project), behaviours),
    }),
    status: (project: string, now: EpochMs, policy: BudgetPolicy, selected?: readonly StreamName[]) =>
      readStatus(ofProject(project), now, policy, selected),
    /** Remembers how many rows a stream has, for `status`. `changed`: how many rows a sync changed. */
    rememberRowCounts: (project: string, changed: ReadonlyMap<StreamName, number>, now: EpochMs) =>
      rememberRowCounts(ofProject(project), changed, now),
    /** Lets a role of Postgres read the objects for analysts. Throws UserError for SQLite. */
    grantToAnalyst: (role: string) => grantToAnalyst(db, kind, role),
    /** The numbers of a report. Null: no facts of the project have been derived yet. */
    reportData: (project: string, now: EpochMs, choosePeriod: (today: LocalDate) => ReportPeriod) =>
      readReportData(db, kind, project, now, choosePeriod),
    /** What the pages of the console show of the project. */
    console: (project: string) => createConsoleReads(ofProject(project)),
    /** Random samples of the project's mirror that are read again. */
    audits: (project: string) => createAuditStore(ofProject(project)),
    /** Deletes audits that ended before that. */
    deleteAudits: (before: EpochMs) => deleteAudits(db, before),
    auditLog: createAuditLog(db),
    budgetHistory: createBudgetHistory(db),
    /** The projects that anything has been read of, with the time zone of their facts. */
    listProjects: () => listMirroredProjects(db),
    /** The project's open gaps, oldest first, up to a thousand. */
    listGaps: (project: string) => listGaps(db, project),
    /** The request budget of that name, shared by all processes that have this warehouse open. */
    budgetRecord: budgets.record,
    /** When the key of that budget was last used, wherever the budget is stored. */
    keyUse: budgets.keyUse,
    workers: createWorkers(db),
    projects: createProjects(db),
    streamStates: createStreamStates(db),
    jobFailures: createJobFailures(db),
    /** Records how many requests something other than a sync run has sent so far. */
    recordRequests: (source: RequestSource, requests: number, now: EpochMs) =>
      recordRequests(db, source, requests, now),
    deliveries: createDeliveries(db, kind),
    /** Updates the statistics of all tables, which query planners need. */
    analyzeTables: () => analyzeAllTables(db, kind),
    /** Runs one SQL statement; rows as the database returns them. */
    query: async (text: string): Promise<readonly Readonly<Record<string, unknown>>[]> =>
      (await sql.raw<Record<string, unknown>>(text).execute(db)).rows,
    /** Reads tables and views as they are when `work` begins. It must not use the warehouse otherwise meanwhile. */
    withSnapshot: <T>(work: (snapshot: ExportSnapshot) => Promise<T>): Promise<T> => withSnapshot(db, pool, work),
    /** Deletes runs that changed nothing and are older than that; returns how many. */
    deleteIdleRuns: (olderThan: EpochMs) => deleteIdleRuns(db, toTimestamp(olderThan)),
    /** Whether the project's database, one of several, did not answer when it was asked last. */
    isAway: (_project: string): boolean => false,
    /** Rejects if the database does not answer. */
    ping: async (): Promise<void> => void (await sql`select 1`.execute(db)),
    close: async (): Promise<void> => {
      await budgets.close()
      await db.destroy()
    },
  }
}
