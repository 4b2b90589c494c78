/** What a worker needs longer than one job: the open warehouse, the budgets, its registration among the workers. */
import { randomUUID } from 'node:crypto'
import { type ChildStreamName, childStreamNames, type StreamName } from '../../schema/stream-specs.ts'
import { openWarehouse, type Warehouse } from '../app/open.ts'
import { openRequestBudgets } from '../app/request-budgets.ts'
import { openSendRecord } from '../app/send-record.ts'
import type { AcquiredLock } from '../app/sync-run.ts'
import type { Config, ProjectConfig } from '../config/config.ts'
import type { Retention } from '../config/retention.ts'
import type { ProjectHealth } from '../maintenance/core/health.ts'
import { noSyncState } from '../maintenance/sql/stream-states.ts'
import { findRollupHistory } from '../mirror/sync/rollup-history.ts'
import { openConnections } from '../service/connections.ts'
import type { EpochMs } from '../values/time.ts'
import { describeLargeLog } from '../warehouse/sqlite-file.ts'
import { createRepeatFilter } from './job-failures.ts'
import { lockAsOnlyWorker } from './only-worker.ts'
import { createOutboxLanes } from './outbox-lanes.ts'
import type { WorkerContextOptions, WorkerResources } from './resources.ts'
import { type AuditSliceOptions, runAuditSlice, runSyncSlice, type SyncSliceOptions } from './sync-slice.ts'
import { type DeliveriesOptions, processDeliveries } from './webhook-deliveries.ts'

export type WorkerContext = Awaited<ReturnType<typeof openWorkerContext>>

/** `onLost`: the worker must stop, as another one has taken over. Throws UserError if the warehouse cannot be used. */
export async function openWorkerContext(
  config: Config,
  { onLost, ...options }: WorkerContextOptions & { readonly onLost: (error: Error) => void },
) {
  const warehouse = await openWarehouse(config.databaseUrl, { setting: config.databaseSetting })
  let unlock = async () => {}
  const openBudgets = async () => {
    const { databaseUrl, queueUrl } = config
    if (queueUrl === 'embedded') unlock = await lockAsOnlyWorker(databaseUrl, warehouse, { log: options.log, onLost })
    return openRequestBudgets(queueUrl, warehouse, options.log)
  }
  const budgets = await openBudgets().catch(async (error: unknown) => {
    await unlock()
    await warehouse.close()
    throw error
  })
  const connections = openConnections()
  const sendRecordOf = (project: ProjectConfig) =>
    openSendRecord(config, project, { warehouse, budgets, log: options.log })
  const shared = { warehouse, budgets, connections, sendRecordOf }
  const resources: WorkerResources = { ...options, ...shared, isNewMessage: createRepeatFilter() }
  const workerId = randomUUID()
  const leadership = createLeaderLock(warehouse)

  return {
    warehouse,
    lanes: createOutboxLanes(resources),
    runSyncSlice: (project: ProjectConfig, slice: SyncSliceOptions) => runSyncSlice(resources, project, slice),
    runAuditSlice: (project: ProjectConfig, slice: AuditSliceOptions) => runAuditSlice(resources, project, slice),
    processDeliveries: (project: ProjectConfig, batch: DeliveriesOptions) =>
      processDeliveries(resources, project, batch),
    markSyncedAndListPending: (project: ProjectConfig) => markSyncedAndListPending(warehouse, project),
    areRollupsBehind: (project: ProjectConfig) => areRollupsBehind(warehouse, project),
    lastCompletions: () => readLastCompletions(warehouse),
    mirrorHealth: (projects: readonly ProjectConfig[]) => readMirrorHealth(resources, projects),
    tryAcquireLeadership: leadership.tryAcquire,
    /** Records that this worker runs, and how it is configured, for `status` and for the others. */
    recordHeartbeat: (queue: string, configuration: string) =>
      warehouse.workers.recordHeartbeat({ id: workerId, queue, configuration }, Date.now()),
    /** Whether the running workers have different projects or schedules, as while a change is rolled out. */
    workersDiffer: () => warehouse.workers.differ(Date.now()),
    describeLargeLog: () => describeLargeLog(config.databaseUrl),
    runHousekeeping: () => runHousekeeping(warehouse, config.retention),
    close: async () => {
      try {
        await leadership.release()
        await warehouse.workers.remove(workerId).catch(() => {})
        await budgets.close()
        await connections.close()
      } finally {
        await unlock().catch(() => {})
        await warehouse.close()
      }
    },
  }
}

/** Not the id of a project: the lock is in the table of stream locks, too. */
const [allProjects, leaderRole] = ['*', 'caretaker']

/** Leader election: a lock that only one of all workers has. */
function createLeaderLock(warehouse: Warehouse) {
  let held: AcquiredLock | null = null
  return {
    /** Acquires or extends the lock; false: another worker has it. */
    tryAcquire: async (): Promise<boolean> => {
      if (await held?.heartbeat(Date.now())) return true
      const lock = await warehouse.lockStreams(allProjects, [leaderRole], Date.now())
      held = lock.held ? lock : null
      return lock.held
    },
    release: async () => held?.release().catch(() => {}),
  }
}

/** Mirrored child streams of the project that have pending children now. The others are marked as completely read. */
async function markSyncedAndListPending(
  { streamStates }: Warehouse,
  { projectId, streams }: ProjectConfig,
): Promise<readonly ChildStreamName[]> {
  const mirrored = childStreamNames.filter((stream) => streams.includes(stream))
  const pending = await streamStates.pendingChildStreams(projectId, Date.now())
  const synced = mirrored.filter((stream) => !pending.includes(stream))
  await streamStates.markSynced(projectId, synced, Date.now())
  return mirrored.filter((stream) => pending.includes(stream))
}

/** When each stream was last read completely, by the project's id; 0 = never, because the key lacks its scope. */
async function readLastCompletions({ streamStates }: Warehouse) {
  const completionTimes = (of: ReadonlyMap<StreamName, { at: EpochMs | null; skipped: boolean }>) =>
    new Map([...of].flatMap(([stream, { at, skipped }]) => ((at ?? skipped) ? [[stream, at ?? 0] as const] : [])))
  return new Map([...(await streamStates.readAll())].map(([project, of]) => [project, completionTimes(of)]))
}

const idleRunRetentionMs = 7 * 86_400_000
const deliveryRetentionMs = 30 * 86_400_000
/** Three times what `status` counts. */
const auditRetentionMs = 90 * 86_400_000
const budgetRetentionMs = 90 * 86_400_000

/** What is left is deleted the next night. */
const maxExpiryMs = 10 * 60_000

/** Deletes runs without changes after a week and webhook deliveries after a month, audits after three; updates table statistics. */
async function runHousekeeping(warehouse: Warehouse, retention: Retention) {
  const runsDeleted = await warehouse.deleteIdleRuns(Date.now() - idleRunRetentionMs)
  const oldDeliveries = await warehouse.deliveries.deleteOlderThan(Date.now() - deliveryRetentionMs)
  await warehouse.deleteAudits(Date.now() - auditRetentionMs)
  await warehouse.budgetHistory.deleteBefore(Date.now() - budgetRetentionMs)
  const deliveriesDeleted = oldDeliveries + (await warehouse.deliveries.trimDone())
  const until = performance.now() + maxExpiryMs
  const expired = await warehouse.deleteExpired(retention, { now: Date.now(), until })
  await warehouse.analyzeTables()
  return { runsDeleted, deliveriesDeleted, expired }
}

/** Whether rollups are missing at the beginning, or have another time zone than configured. Reads the warehouse only. */
async function areRollupsBehind(warehouse: Warehouse, project: ProjectConfig): Promise<boolean> {
  const { projectId, streams, startDate, timeZone, schedules } = project
  if (!streams.includes('analytics') || schedules.analytics.kind === 'off') return false
  const mirror = warehouse.mirror(projectId)
  if ((await mirror.readStreamStatuses(['analytics'])).get('analytics') === 'skipped') return false
  const history = await findRollupHistory({ mirror, mirrored: new Set(streams), startDate })
  if (history.kind === 'waiting') return false
  const stored = await mirror.readRollups()
  const oldest = stored.at(-1)
  if (oldest === undefined || stored.some((rollup) => rollup.timeZone !== timeZone)) return true
  return history.kind === 'known' && history.from < oldest.from
}

/** The health of the worker's projects, for metrics. */
async function readMirrorHealth(
  { warehouse, budgets }: WorkerResources,
  projects: readonly ProjectConfig[],
): Promise<readonly ProjectHealth[]> {
  const now = Date.now()
  const states = await warehouse.streamStates.readProjects(now)
  const held = await warehouse.projects.listHeld()
  const paused = await warehouse.projects.listPaused(now)
  return Promise.all(
    projects.map(async (project): Promise<ProjectHealth> => {
      const budget = await budgets
        .ifOpened(project)
        ?.view()
        .catch(() => null)
      const { streams, pendingChildren, ...counts } = states.get(project.projectId) ?? noSyncState
      return {
        project: project.name,
        streams: project.streams.map((stream) => {
          const completion = streams.get(stream)
          return {
            stream,
            lagMs: completion?.at == null ? null : Math.max(0, now - completion.at),
            pendingChildren: pendingChildren.get(stream as ChildStreamName) ?? 0,
            isFailed: completion?.failed ?? false,
            isSkipped: completion?.skipped ?? false,
          }
        }),
        ...counts,
        budget: budget ?? null,
        isPaused: paused.has(project.projectId),
        isHeld: held.has(project.projectId),
      }
    }),
  )
}
