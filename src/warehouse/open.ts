/** Opens the warehouse that a URL names and migrates its schema. Errors say what a person can do about them. */
import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { sql } from 'kysely'
import type { LocalDate } from '../core/analytics/fact-rows.ts'
import type { GapReport, GrantReport, StatusReport } from '../core/command-reports.ts'
import type { Mirror, MirrorReader } from '../core/mirror.ts'
import type { OutboxAdmin } from '../core/outbox/admin.ts'
import type { OutboxRepository } from '../core/outbox/repository.ts'
import type { BudgetRecord, KeyUse } from '../core/rate-limit/budget-record.ts'
import type { Rate } from '../core/rate-limit/rate.ts'
import type { ReportPeriod } from '../core/report-period.ts'
import type { StreamName } from '../core/stream-specs.ts'
import { toTimestamp } from '../core/time.ts'
import { UserError } from '../core/user-error.ts'
import type { FactsSettings } from './analytics/facts-state.ts'
import { grantToAnalyst } from './analytics/grant.ts'
import { createProjectFacts, type ProjectFacts } from './analytics/project-facts.ts'
import { type ReportData, readReportData } from './analytics/report-data.ts'
import { createRollupComparison, type RollupComparison } from './analytics/rollup-comparison.ts'
import { createBudgetRecords } from './budget-records.ts'
import { type ConnectionPool, type Db, openKysely } from './database/connection-pool.ts'
import { explainOpenError, explainRuntimeError, WarehouseError } from './database/explain-error.ts'
import { type DatabaseLocation, parseDatabaseUrl } from './database/location.ts'
import { EmptyWarehouseError, type MigrationSummary, migrate, requireCurrentSchema } from './database/migrate.ts'
import { openPostgresPool } from './database/postgres.ts'
import { openSqlitePool } from './database/sqlite.ts'
import { analyzeAllTables } from './database/statistics.ts'
import { createJobFailures, type JobFailureRepository } from './job-failures.ts'
import { createMirror, type MirrorOptions } from './mirror/mirror.ts'
import { acquireStreamLocks, type LockResult } from './mirror/stream-locks.ts'
import { deleteIdleRuns } from './mirror/sync-runs.ts'
import { createOutboxAdmin } from './outbox/admin.ts'
import { createOutboxRepository } from './outbox/repository.ts'
import { createProjects, type ProjectRepository } from './projects.ts'
import { type RequestSource, recordRequests } from './request-counts.ts'
import { listGaps, readStatus } from './status.ts'
import { createStreamStates, type StreamStateRepository } from './stream-states.ts'
import { createDeliveries, type DeliveryRepository } from './webhook-deliveries.ts'
import { createWorkers, type WorkerRepository } from './workers.ts'

export type Warehouse = {
  readonly kind: ConnectionPool['kind']
  /** What opening did to the schema; null for a reader. */
  readonly migration: MigrationSummary | null
  readonly mirror: (project: string, options?: MirrorOptions) => Mirror & MirrorReader
  /** The facts of the project for analysts, by these settings. */
  readonly facts: (project: string, settings: FactsSettings) => ProjectFacts
  /** Compares the service's rollups with counts of our own. `clock`: milliseconds since 1970. */
  readonly rollups: (project: string, settings: FactsSettings, clock?: () => number) => RollupComparison
  /** The project's queue of write-backs: for the sender, and for people. */
  readonly outbox: (project: string) => OutboxRepository
  readonly outboxAdmin: (project: string) => OutboxAdmin
  /** Locks streams of the project for this process, and closes runs of dead processes. `now`: in milliseconds. */
  readonly lockStreams: (project: string, streams: readonly string[], now: number) => Promise<LockResult>
  readonly status: (project: string, now: number, rate: Rate, selected?: readonly StreamName[]) => Promise<StatusReport>
  /** The numbers of a report. `now`: in milliseconds. Null: no facts of the project have been derived yet. */
  readonly reportData: (
    project: string,
    now: number,
    choosePeriod: (today: LocalDate) => ReportPeriod,
  ) => Promise<ReportData | null>
  /** Lets a role of Postgres read the objects for analysts. Throws UserError for SQLite. */
  readonly grantToAnalyst: (role: string) => Promise<GrantReport>
  /** The project's open gaps, oldest first, up to a thousand. */
  readonly listGaps: (project: string) => Promise<readonly GapReport[]>
  /** The request budget of that name, shared by all processes that have this warehouse open. */
  readonly budgetRecord: (name: string) => BudgetRecord
  /** When the key of that budget was last used, wherever the budget is stored. */
  readonly keyUse: (name: string) => KeyUse
  readonly workers: WorkerRepository
  readonly projects: ProjectRepository
  readonly streamStates: StreamStateRepository
  readonly jobFailures: JobFailureRepository
  /** Records how many requests something other than a sync run has sent so far. */
  readonly recordRequests: (source: RequestSource, requests: number, now: number) => Promise<void>
  readonly deliveries: DeliveryRepository
  /** Updates the statistics of all tables, which query planners need. */
  readonly analyzeTables: () => Promise<void>
  /** Runs one SQL statement; rows as the database returns them. */
  readonly query: (text: string) => Promise<readonly Readonly<Record<string, unknown>>[]>
  /** Deletes runs that changed nothing and are older than that; returns how many. */
  readonly deleteIdleRuns: (olderThan: number) => Promise<number>
  /** Rejects if the database does not answer. */
  readonly ping: () => Promise<void>
  readonly close: () => Promise<void>
}

export type WarehouseOptions = {
  /** `read`: changes nothing, and rejects a database that nothing has been mirrored into. */
  readonly access?: 'write' | 'read'
  /** SQLite only. */
  readonly synchronous?: 'normal' | 'full'
}

/** `sqlite:PATH` or `postgres://…`. Throws UserError. */
export async function openWarehouse(url: string, options: WarehouseOptions = {}): Promise<Warehouse> {
  const location = parseDatabaseUrl(url)
  const isWriter = options.access !== 'read'
  if (
    !isWriter &&
    location.kind === 'sqlite' &&
    existsSync(dirname(resolve(location.path))) &&
    !existsSync(location.path)
  ) {
    throw new EmptyWarehouseError()
  }
  try {
    const pool =
      location.kind === 'sqlite'
        ? openSqlitePool(location.path, { mustExist: !isWriter, synchronous: options.synchronous ?? 'normal' })
        : await openPostgresPool(location.url, isWriter)
    return await createWarehouse(withExplainedErrors(pool, location), isWriter)
  } catch (error) {
    throw error instanceof UserError && !(error instanceof WarehouseError) ? error : explainOpenError(location, error)
  }
}

/** Failures of the database itself become errors for people. Anything else is a bug and is thrown as it is. */
function withExplainedErrors(pool: ConnectionPool, location: DatabaseLocation): ConnectionPool {
  const explain = (error: unknown): never => {
    throw explainRuntimeError(location, error) ?? error
  }
  return {
    ...pool,
    openSeparate: () => withExplainedErrors(pool.openSeparate(), location),
    acquire: async () => {
      const connection = await pool.acquire().catch(explain)
      return { ...connection, run: (text, parameters) => connection.run(text, parameters).catch(explain) }
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

function assembleWarehouse(db: Db, pool: ConnectionPool, migration: MigrationSummary | null): Warehouse {
  const budgets = createBudgetRecords(pool)
  return {
    kind: pool.kind,
    migration,
    mirror: (project, options = {}) => createMirror(db, pool, project, options),
    facts: (project, settings) => createProjectFacts({ db, kind: pool.kind, project }, settings, Date.now),
    rollups: (project, settings, clock = Date.now) =>
      createRollupComparison({ db, kind: pool.kind, project }, settings, clock),
    outbox: (project) => createOutboxRepository({ db, kind: pool.kind, project, clock: Date.now }),
    outboxAdmin: (project) => createOutboxAdmin({ db, kind: pool.kind, project, clock: Date.now }),
    lockStreams: (project, streams, now) => acquireStreamLocks(db, pool.kind, project, streams, now),
    status: (project, now, rate, selected) => readStatus(db, project, now, rate, selected),
    reportData: (project, now, choosePeriod) => readReportData(db, pool.kind, project, now, choosePeriod),
    grantToAnalyst: (role) => grantToAnalyst(db, pool.kind, role),
    listGaps: (project) => listGaps(db, project),
    budgetRecord: budgets.record,
    keyUse: budgets.keyUse,
    workers: createWorkers(db),
    projects: createProjects(db),
    streamStates: createStreamStates(db),
    jobFailures: createJobFailures(db),
    recordRequests: (source, requests, now) => recordRequests(db, source, requests, now),
    deliveries: createDeliveries(db, pool.kind),
    analyzeTables: () => analyzeAllTables(db, pool.kind),
    query: async (text) => (await sql.raw<Record<string, unknown>>(text).execute(db)).rows,
    deleteIdleRuns: (olderThan) => deleteIdleRuns(db, toTimestamp(olderThan)),
    ping: async () => void (await sql`select 1`.execute(db)),
    close: async () => {
      await budgets.close()
      await db.destroy()
    },
  }
}
