/** What a worker asks the warehouse about its projects, and how it keeps the warehouse small. */
import {
  type ChildStreamName,
  childStreamNames,
  type StreamName,
} from '../../schema/stream-specs.ts'
import { openMirror } from '../app/facts.ts'
import type { Warehouse } from '../app/open.ts'
import type { Config, ProjectConfig } from '../config/config.ts'
import { plannedReading } from '../config/planned-interval.ts'
import { isStreamFailing } from '../maintenance/core/job-failure.ts'
import type { FailingJob, ProjectHealth } from '../maintenance/maintenance.ts'
import {
  isCircuitOpen,
  markSynced,
  readProjectStates,
  readStreamStates,
} from '../maintenance/sql/project-states.ts'
import { listPaused } from '../maintenance/sql/projects.ts'
import { deleteExpired, deleteOldRecords } from '../maintenance/sql/retention.ts'
import { listPendingStreams } from '../mirror/sql/pending-children.ts'
import { findRollupHistory } from '../mirror/sync/rollup-days.ts'
import { listHeld } from '../outbox/sql/sending.ts'
import type { EpochMs } from '../values/time.ts'
import { parseDatabaseUrl } from '../warehouse/location.ts'
import { analyzeAllTables } from '../warehouse/statistics.ts'
import { readStorage, type Storage } from '../warehouse/storage-size.ts'
import type { WorkerResources } from './resources.ts'

/**
 * Mirrored child streams of the project that have pending children now. The others are marked as
 * completely read.
 */
export async function markSyncedAndListPending(
  { warehouse }: WorkerResources,
  { projectId, streams }: ProjectConfig,
) {
  const mirrored = childStreamNames.filter((stream) => streams.includes(stream))
  const pending = await listPendingStreams(warehouse.db, projectId, Date.now())
  const synced = mirrored.filter((stream) => !pending.includes(stream))
  await markSynced(warehouse.db, projectId, synced, Date.now())
  return mirrored.filter((stream) => pending.includes(stream))
}

/**
 * When each stream was last read completely, by the project's id; 0 = never, because the key lacks
 * its scope.
 */
export async function readLastCompletions({ db }: Warehouse) {
  const completionTimes = (of: ReadonlyMap<StreamName, { at: EpochMs | null; skipped: boolean }>) =>
    new Map(
      [...of].flatMap(([stream, { at, skipped }]) =>
        (at ?? skipped) ? [[stream, at ?? 0] as const] : [],
      ),
    )
  return new Map(
    [...(await readStreamStates(db))].map(([project, of]) => [project, completionTimes(of)]),
  )
}

/**
 * Whether rollups are missing at the beginning, or have another time zone than configured. Reads
 * the warehouse only.
 */
export async function areRollupsBehind(
  { warehouse }: WorkerResources,
  project: ProjectConfig,
): Promise<boolean> {
  const { projectId, streams, startDate, timeZone, schedules } = project
  if (!streams.includes('analytics') || schedules.analytics.kind === 'off') return false
  const mirror = openMirror(warehouse, projectId)
  if ((await mirror.readStreamStatuses(['analytics'])).get('analytics') === 'skipped') return false
  const history = await findRollupHistory({ mirror, mirrored: new Set(streams), startDate })
  if (history.kind === 'blocked') return false
  const stored = await mirror.readRollups()
  const oldest = stored.at(-1)
  if (oldest === undefined || stored.some((rollup) => rollup.timeZone !== timeZone)) return true
  return history.kind === 'known' && history.from < oldest.from
}

/** The health of the worker's projects, for metrics. */
export async function readMirrorHealth(
  { warehouse, budgets }: WorkerResources,
  projects: readonly ProjectConfig[],
  failing: readonly FailingJob[],
): Promise<readonly ProjectHealth[]> {
  const now = Date.now()
  const stateOf = await readProjectStates(warehouse.db, now)
  const held = await listHeld(warehouse.db)
  const paused = await listPaused(warehouse.db, now)
  return Promise.all(
    projects.map(async (project): Promise<ProjectHealth> => {
      const opened = budgets.ifOpened(project)
      const budget = opened && (await opened.view().catch(() => null))
      const { streams, pendingChildren, ...counts } = stateOf(project.projectId)
      return {
        project: project.name,
        streams: project.streams.map((stream) => {
          const completion = streams?.get(stream)
          return {
            stream,
            lagMs: completion?.at == null ? null : Math.max(0, now - completion.at),
            intervalMs: plannedReading(project.schedules, stream)?.intervalMs ?? null,
            pendingChildren: pendingChildren?.get(stream as ChildStreamName) ?? 0,
            isFailed: completion?.failed === true || isStreamFailing(failing, project.name, stream),
            isSkipped: completion?.skipped ?? false,
          }
        }),
        ...counts,
        budget,
        isPaused: paused.has(project.projectId),
        isHeld: held.has(project.projectId),
        isCircuitOpen: await isCircuitOpen(
          warehouse.projectDb(project.projectId),
          counts.writebacks,
          now,
        ),
      }
    }),
  )
}

export function readWarehouseStorage(
  { databaseUrl }: Pick<Config, 'databaseUrl'>,
  { db }: Warehouse,
): Promise<Storage> {
  return readStorage(parseDatabaseUrl(databaseUrl), db)
}

/** What is left is deleted the next night. */
const maxExpiryMs = 10 * 60_000

/** Deletes what has been kept long enough; updates table statistics. */
export async function runHousekeeping({
  warehouse,
  retention,
}: Pick<WorkerResources, 'warehouse'> & Pick<Config, 'retention'>) {
  const { db, kind } = warehouse
  const deleted = await deleteOldRecords(db, Date.now())
  const until = performance.now() + maxExpiryMs
  const expired = await deleteExpired(db, kind, retention, { now: Date.now(), until })
  await analyzeAllTables(db, kind)
  return { ...deleted, expired }
}
