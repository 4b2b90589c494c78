/**
 * One warehouse of several databases: each project is mirrored into one of them, and every database is complete by itself for
 * its projects. What belongs to all of them is in the first: request budgets, the lock of the leader, the console's audit log.
 */
import type { Retention } from '../core/retention.ts'
import type { MigrationSummary } from './database/migrate.ts'
import { type Databases, listDatabases, placeOf } from './databases.ts'
import { openWarehouse, type Warehouse } from './open.ts'
import type { WarehouseOptions } from './open-database.ts'
import { createAvailability } from './shard-availability.ts'

/** `mayBeAway`: all but the first, which has what belongs to all. Throws UserError. */
export async function openShards(
  databases: Databases,
  { mayBeAway = false, ...options }: WarehouseOptions = {},
): Promise<Warehouse> {
  const results = await Promise.allSettled(
    listDatabases(databases).map(async ({ databaseUrl: url, databaseSetting: setting }, n) => {
      const warehouse = await openWarehouse(url, { ...options, setting, mayBeAway: mayBeAway && n > 0 })
      return [placeOf(url), warehouse] as const
    }),
  )
  const opened = new Map(results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])))
  const failed = results.find((result) => result.status === 'rejected')
  if (failed !== undefined) {
    for (const warehouse of opened.values()) await warehouse.close().catch(() => {})
    throw failed.reason
  }
  const [first, ...others] = opened.values()
  if (first === undefined) throw new Error('there is no database')
  if (others.length === 0) return first
  const byProject = new Map<string, Warehouse>()
  for (const { projectId, databaseUrl } of databases.projects)
    byProject.set(projectId, opened.get(placeOf(databaseUrl ?? databases.databaseUrl)) ?? first)
  return joinShards(first, others, (project) => byProject.get(project) ?? first)
}

/** `of`: the database of a project. */
function joinShards(first: Warehouse, others: readonly Warehouse[], of: (project: string) => Warehouse): Warehouse {
  const all = [first, ...others]
  const { isAway, askEach } = createAvailability(all)
  return {
    ...ofAll(first, all, of, askEach),
    isAway: (project) => isAway(of(project)) || of(project).isAway(project),
    ...ofProjects(of),
    kind: first.kind,
    migration: joinMigrations(all),
    installationId: first.installationId,
    auditLog: {
      ...first.auditLog,
      // A decision is recorded in the database of its project.
      list: async (before, limit) => {
        const events = await Promise.all(all.map(({ auditLog }) => auditLog.list(before, limit)))
        return events
          .flat()
          .sort((a, b) => (a.id < b.id ? 1 : -1))
          .slice(0, limit)
      },
    },
    budgetRecord: first.budgetRecord,
    keyUse: first.keyUse,
    /** Objects without a project are those of the first database. */
    query: first.query,
    withSnapshot: first.withSnapshot,
  }
}

/** What names its project. */
function ofProjects(of: (project: string) => Warehouse) {
  return {
    mirror: (project, ...rest) => of(project).mirror(project, ...rest),
    facts: (project, ...rest) => of(project).facts(project, ...rest),
    rollups: (project, ...rest) => of(project).rollups(project, ...rest),
    outbox: (project) => of(project).outbox(project),
    outboxAdmin: (project) => of(project).outboxAdmin(project),
    outboxSnapshot: (project, work) => of(project).outboxSnapshot(project, work),
    readClock: (project) => of(project).readClock(project),
    erasure: (project) => of(project).erasure(project),
    sends: (project) => of(project).sends(project),
    revertSource: (project) => of(project).revertSource(project),
    reviewReader: (project) => of(project).reviewReader(project),
    importLookups: (project) => of(project).importLookups(project),
    lockStreams: (project, ...rest) => of(project).lockStreams(project, ...rest),
    rememberRowCounts: (project, ...rest) => of(project).rememberRowCounts(project, ...rest),
    status: (project, ...rest) => of(project).status(project, ...rest),
    reportData: (project, ...rest) => of(project).reportData(project, ...rest),
    console: (project) => of(project).console(project),
    listGaps: (project) => of(project).listGaps(project),
    audits: (project) => of(project).audits(project),
    behaviours: (project) => of(project).behaviours(project),
    recordRequests: (source, ...rest) => of(source.project).recordRequests(source, ...rest),
  } satisfies Partial<Warehouse>
}

type AskEach = ReturnType<typeof createAvailability>['askEach']

/** What concerns several projects: asked of each database that is not away, or split by project. */
function ofAll(first: Warehouse, all: readonly Warehouse[], of: (project: string) => Warehouse, askEach: AskEach) {
  /** All of them have to answer. */
  const each = <T>(ask: (warehouse: Warehouse) => Promise<T>): Promise<readonly T[]> => Promise.all(all.map(ask))
  /** Without what a database still has of a project that is mirrored into another one now. */
  const listOwn = async <T>(ask: (warehouse: Warehouse) => Promise<Iterable<T>>, projectOf: (row: T) => string) => {
    const answers = await askEach(ask)
    return answers.flatMap(({ warehouse, value }) => [...value].filter((row) => of(projectOf(row)) === warehouse))
  }
  const maps = async <V>(ask: (warehouse: Warehouse) => Promise<ReadonlyMap<string, V>>) =>
    new Map(await listOwn(ask, ([project]) => project))
  const projects = async (ask: (warehouse: Warehouse) => Promise<ReadonlySet<string>>) =>
    new Set(await listOwn(ask, (project) => project))
  const sum = async (ask: (warehouse: Warehouse) => Promise<number>) =>
    (await askEach(ask)).reduce((total, { value }) => total + value, 0)
  return {
    /** In each database, so that `status` of one of them alone knows the workers. */
    workers: {
      recordHeartbeat: async (...row) => void (await askEach(({ workers }) => workers.recordHeartbeat(...row))),
      remove: async (id) => void (await askEach(({ workers }) => workers.remove(id))),
      listLive: first.workers.listLive,
      differ: first.workers.differ,
    },
    budgetHistory: {
      add: async (minutes) => {
        const byShard = Map.groupBy(minutes, ({ project }) => of(project))
        await Promise.all([...byShard].map(([warehouse, own]) => warehouse.budgetHistory.add(own)))
      },
      recordPause: (project, pause) => of(project).budgetHistory.recordPause(project, pause),
      deleteBefore: async (before) => void (await askEach(({ budgetHistory }) => budgetHistory.deleteBefore(before))),
    },
    projects: {
      setPause: (project, pause) => of(project).projects.setPause(project, pause),
      readPause: (project) => of(project).projects.readPause(project),
      listPaused: (now) => projects((warehouse) => warehouse.projects.listPaused(now)),
      listHeld: () => maps(({ projects }) => projects.listHeld()),
      recordBudgetLoss: (project, ...rest) => of(project).projects.recordBudgetLoss(project, ...rest),
      listWithWritebacks: () => projects((warehouse) => warehouse.projects.listWithWritebacks()),
      countWithoutProject: () => sum((warehouse) => warehouse.projects.countWithoutProject()),
    },
    streamStates: {
      pendingChildStreams: (project, now) => of(project).streamStates.pendingChildStreams(project, now),
      allPendingChildStreams: (now) => maps(({ streamStates }) => streamStates.allPendingChildStreams(now)),
      markSynced: (project, ...rest) => of(project).streamStates.markSynced(project, ...rest),
      readAll: () => maps(({ streamStates }) => streamStates.readAll()),
      readProjects: (now) => maps(({ streamStates }) => streamStates.readProjects(now)),
    },
    jobFailures: {
      record: (failure) => of(failure.projectId).jobFailures.record(failure),
      clear: (failure) => of(failure.projectId).jobFailures.clear(failure),
      list: () =>
        listOwn(
          ({ jobFailures }) => jobFailures.list(),
          ({ projectId }) => projectId,
        ),
    },
    deliveries: {
      isFull: (project) => of(project).deliveries.isFull(project),
      store: (project, ...rest) => of(project).deliveries.store(project, ...rest),
      claim: (project, ...rest) => of(project).deliveries.claim(project, ...rest),
      settle: (project, ...rest) => of(project).deliveries.settle(project, ...rest),
      postpone: (project, ...rest) => of(project).deliveries.postpone(project, ...rest),
      locateRows: (project, ids) => of(project).deliveries.locateRows(project, ids),
      firstDuePerProject: (now) =>
        listOwn(
          ({ deliveries }) => deliveries.firstDuePerProject(now),
          ({ project }) => project,
        ),
      deleteOlderThan: (time) => sum(({ deliveries }) => deliveries.deleteOlderThan(time)),
      trimDone: () => sum(({ deliveries }) => deliveries.trimDone()),
    },
    listProjects: () =>
      listOwn(
        (warehouse) => warehouse.listProjects(),
        ({ id }) => id,
      ),
    grantToAnalyst: async (role) => {
      const granted = await each((warehouse) => warehouse.grantToAnalyst(role))
      return granted[0] as (typeof granted)[number]
    },
    /** Goes on with the others if one fails, and then fails as well. */
    rewriteRows: async (options) => {
      let [rows, isComplete] = [0, true]
      const failures: unknown[] = []
      for (const warehouse of all) {
        const before = rows
        const onProgress = (done: number, left: number) => options.onProgress?.(before + done, left)
        try {
          const done = await warehouse.rewriteRows({ ...options, onProgress })
          rows += done.rows
          isComplete &&= done.isComplete
        } catch (error) {
          failures.push(error)
        }
      }
      if (failures.length > 0) throw failures[0]
      return { rows, isComplete }
    },
    analyzeTables: async () => void (await askEach((warehouse) => warehouse.analyzeTables())),
    deleteAudits: async (before) => void (await askEach((warehouse) => warehouse.deleteAudits(before))),
    deleteExpired: async (retention, time) => {
      const done = (await askEach((warehouse) => warehouse.deleteExpired(retention, time))).map(({ value }) => value)
      const sumOf = (kept: keyof Retention) => done.reduce((total, rows) => total + rows[kept], 0)
      return {
        ...{ runs: sumOf('runs'), snapshots: sumOf('snapshots'), writebacks: sumOf('writebacks') },
        ...{ events: sumOf('events'), gaps: sumOf('gaps') },
      }
    },
    deleteIdleRuns: (olderThan) => sum((warehouse) => warehouse.deleteIdleRuns(olderThan)),
    ping: async () => void (await each((warehouse) => warehouse.ping())),
    close: async () => void (await each((warehouse) => warehouse.close())),
  } satisfies Partial<Warehouse>
}

/** Null if none of them was opened for writing. */
function joinMigrations(all: readonly Warehouse[]): MigrationSummary | null {
  const done = all.flatMap(({ migration }) => migration ?? [])
  const [first] = done
  if (first === undefined) return null
  return { ...first, applied: [...new Set(done.flatMap(({ applied }) => applied))] }
}
