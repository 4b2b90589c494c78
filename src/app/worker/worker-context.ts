/** What a worker needs longer than one job: the open warehouse, the budgets, its registration among the workers. */
import { randomUUID } from 'node:crypto'
import { openConnections } from '../../api/connections.ts'
import type { Config, ProjectConfig } from '../../config/config.ts'
import type { ProjectHealth } from '../../core/health.ts'
import { type ChildStreamName, childStreamNames, type StreamName } from '../../core/stream-specs.ts'
import type { EpochMs } from '../../core/time.ts'
import { findRollupHistory } from '../../sync/rollup-history.ts'
import type { JobFailureRepository } from '../../warehouse/job-failures.ts'
import { openWarehouse, type Warehouse } from '../../warehouse/open.ts'
import { openRequestBudgets } from '../request-budgets.ts'
import { readMirrorHealth } from './health.ts'
import { createLeaderLocks, type LeaderLocks } from './leader-lock.ts'
import { createOutboxLanes, type OutboxLanes } from './outbox-lanes.ts'
import { createRepeatFilter } from './repeat-filter.ts'
import type { WorkerContextOptions, WorkerResources } from './resources.ts'
import { runSyncSlice, type SyncSliceOptions, type SyncSliceResult } from './sync-slice.ts'
import {
  type DeliveriesOptions,
  type DeliveriesResult,
  processDeliveries,
  type StoreDeliveryResult,
  storeDelivery,
} from './webhook-deliveries.ts'

export type WorkerContext = {
  readonly runSyncSlice: (project: ProjectConfig, options: SyncSliceOptions) => Promise<SyncSliceResult>
  readonly lanes: OutboxLanes
  /** Stores a webhook delivery for the project with that id. */
  readonly storeDelivery: (projectId: string, body: Buffer) => Promise<StoreDeliveryResult>
  /** Processes a batch of the project's webhook deliveries. */
  readonly processDeliveries: (project: ProjectConfig, options: DeliveriesOptions) => Promise<DeliveriesResult>
  /** One due delivery of each project that has any; `project` is its id. */
  readonly dueDeliveries: () => Promise<readonly { readonly project: string; readonly id: string }[]>
  /** Mirrored child streams of the project that have pending children now. The others are marked as completely read. */
  readonly markSyncedAndListPending: (project: ProjectConfig) => Promise<readonly ChildStreamName[]>
  /** The same for all projects, by their id, without marking the others. */
  readonly allPendingChildStreams: () => Promise<ReadonlyMap<string, readonly ChildStreamName[]>>
  /** Whether rollups are missing at the beginning, or have another time zone than configured. */
  readonly areRollupsBehind: (project: ProjectConfig) => Promise<boolean>
  /** When each stream was last read completely, by the project's id; 0 = never, because the key lacks its scope. */
  readonly lastCompletions: () => Promise<ReadonlyMap<string, ReadonlyMap<StreamName, EpochMs>>>
  readonly mirrorHealth: (projects: readonly ProjectConfig[]) => Promise<readonly ProjectHealth[]>
  readonly jobFailures: JobFailureRepository
  readonly tryAcquireLeadership: LeaderLocks['tryAcquireLeadership']
  /** Records that this worker runs, for `status`. `queue`: redis, postgres or embedded. */
  readonly recordHeartbeat: (queue: string) => Promise<void>
  /** Deletes runs without changes after a week and webhook deliveries after a month; updates table statistics. */
  readonly runHousekeeping: () => Promise<{ readonly runsDeleted: number; readonly deliveriesDeleted: number }>
  /** Rejects if the warehouse does not answer. */
  readonly ping: () => Promise<void>
  readonly close: () => Promise<void>
}

const idleRunRetentionMs = 7 * 86_400_000
const deliveryRetentionMs = 30 * 86_400_000

/** Throws UserError if the warehouse cannot be opened. */
export async function openWorkerContext(config: Config, options: WorkerContextOptions): Promise<WorkerContext> {
  const warehouse = await openWarehouse(config.databaseUrl)
  const budgets = await openRequestBudgets(config.queueUrl, warehouse, options.log).catch(async (error: unknown) => {
    await warehouse.close()
    throw error
  })
  const connections = openConnections()
  const resources: WorkerResources = { ...options, warehouse, budgets, connections, isNewMessage: createRepeatFilter() }
  const workerId = randomUUID()
  const leaderLocks = createLeaderLocks(warehouse)

  return {
    runSyncSlice: (project, sliceOptions) => runSyncSlice(resources, project, sliceOptions),
    lanes: createOutboxLanes(resources),
    storeDelivery: (projectId, body) => storeDelivery(warehouse, projectId, body),
    processDeliveries: (project, deliveryOptions) => processDeliveries(resources, project, deliveryOptions),
    dueDeliveries: () => warehouse.deliveries.firstDuePerProject(Date.now()),
    markSyncedAndListPending: async ({ projectId, streams }) => {
      const mirrored = childStreamNames.filter((stream) => streams.includes(stream))
      const pending = await warehouse.streamStates.pendingChildStreams(projectId, Date.now())
      const synced = mirrored.filter((stream) => !pending.includes(stream))
      await warehouse.streamStates.markSynced(projectId, synced, Date.now())
      return mirrored.filter((stream) => pending.includes(stream))
    },
    areRollupsBehind: (project) => areRollupsBehind(warehouse, project),
    allPendingChildStreams: () => warehouse.streamStates.allPendingChildStreams(Date.now()),
    lastCompletions: async () => {
      const completionTimes = (of: ReadonlyMap<StreamName, { at: EpochMs | null; skipped: boolean }>) =>
        new Map([...of].flatMap(([stream, { at, skipped }]) => ((at ?? skipped) ? [[stream, at ?? 0] as const] : [])))
      return new Map(
        [...(await warehouse.streamStates.readAll())].map(([project, of]) => [project, completionTimes(of)]),
      )
    },
    mirrorHealth: (projects) => readMirrorHealth(resources, projects),
    jobFailures: warehouse.jobFailures,
    tryAcquireLeadership: leaderLocks.tryAcquireLeadership,
    recordHeartbeat: (queue) => warehouse.workers.recordHeartbeat(workerId, queue, Date.now()),
    runHousekeeping: async () => {
      const runsDeleted = await warehouse.deleteIdleRuns(Date.now() - idleRunRetentionMs)
      const expired = await warehouse.deliveries.deleteOlderThan(Date.now() - deliveryRetentionMs)
      const deliveriesDeleted = expired + (await warehouse.deliveries.trimDone())
      await warehouse.analyzeTables()
      return { runsDeleted, deliveriesDeleted }
    },
    ping: () => warehouse.ping(),
    close: async () => {
      await leaderLocks.release()
      await warehouse.workers.remove(workerId).catch(() => {})
      budgets.close()
      await connections.close()
      await warehouse.close()
    },
  }
}

/** Reads the warehouse only. */
async function areRollupsBehind(warehouse: Warehouse, project: ProjectConfig): Promise<boolean> {
  const { projectId, streams, startDate, timeZone, schedules } = project
  if (!streams.includes('analytics') || schedules.analytics.kind === 'off') return false
  const mirror = warehouse.mirror(projectId)
  if ((await mirror.readStreamStandings(['analytics'])).get('analytics') === 'skipped') return false
  const history = await findRollupHistory({ mirror, mirrored: new Set(streams), startDate })
  if (history.kind === 'waiting') return false
  const stored = await mirror.rollups()
  const oldest = stored.at(-1)
  if (oldest === undefined || stored.some((rollup) => rollup.timeZone !== timeZone)) return true
  return history.kind === 'known' && history.from < oldest.from
}
