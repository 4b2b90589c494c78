/** All of a worker that outlives a pass: the open warehouse, the budgets, its place among the other workers. */
import { randomUUID } from 'node:crypto'
import { openConnections } from '../../api/connections.ts'
import type { Config, ProjectConfig } from '../../config/load.ts'
import { type ChildStreamName, parentStreams } from '../../core/mirror.ts'
import type { StreamName } from '../../core/row.ts'
import type { EpochMs } from '../../core/time.ts'
import type { ProjectHealth } from '../../core/health.ts'
import type { JobFailureRepository } from '../../warehouse/job-failures.ts'
import { openWarehouse } from '../../warehouse/open.ts'
import { openRequestBudgets } from '../request-budgets.ts'
import { type DeliveriesOptions, type DeliveriesResult, type StoreDeliveryResult, storeDelivery, processDeliveries } from './webhook-deliveries.ts'
import { type OutboxLanes, createOutboxLanes } from './outbox-lanes.ts'
import type { WorkerResources, WorkerContextOptions } from './resources.ts'
import { createRepeatFilter } from './repeat-filter.ts'
import { type SyncSliceOptions, type SyncSliceResult, runSyncSlice } from './sync-slice.ts'
import { type LeaderLocks, createLeaderLocks } from './leader-lock.ts'
import { areRollupsBehind } from './rollups.ts'
import { readMirrorHealth } from './health.ts'

export type WorkerContext = {
  readonly runSyncSlice: (project: ProjectConfig, ask: SyncSliceOptions) => Promise<SyncSliceResult>
  readonly lanes: OutboxLanes
  /** Stores what a webhook brought for the project with that id. */
  readonly storeDelivery: (projectId: string, body: Buffer) => Promise<StoreDeliveryResult>
  /** Looks after some of what webhooks have brought for the project. */
  readonly processDeliveries: (project: ProjectConfig, ask: DeliveriesOptions) => Promise<DeliveriesResult>
  /** One delivery of each project, by its id, that has some to be looked after. */
  readonly dueDeliveries: () => Promise<readonly { readonly project: string; readonly id: string }[]>
  /** Child streams of the project that it mirrors and that have something due now. The others are noted as read to their end. */
  readonly pendingChildStreams: (project: ProjectConfig) => Promise<readonly ChildStreamName[]>
  /** The same of all projects, by their id, and without any note. */
  readonly allPendingChildStreams: () => Promise<ReadonlyMap<string, readonly ChildStreamName[]>>
  /** Whether the rollups begin later than they should, or are days of another time zone than they should be. */
  readonly areRollupsBehind: (project: ProjectConfig) => Promise<boolean>
  /** When each stream last came to its end, by the project's id; 0 = never, as the key lacks its scope. */
  readonly lastCompletions: () => Promise<ReadonlyMap<string, ReadonlyMap<StreamName, EpochMs>>>
  readonly mirrorHealth: (projects: readonly ProjectConfig[]) => Promise<readonly ProjectHealth[]>
  /** Where it is noted what fails. */
  readonly failureLog: JobFailureRepository
  readonly tryLead: LeaderLocks['tryLead']
  /** A sign of life, for `status`. `queue`: redis, postgres or embedded. */
  readonly recordHeartbeat: (queue: string) => Promise<void>
  /** Forgets runs of last week that changed nothing, and what webhooks brought a month ago; renews statistics. */
  readonly runHousekeeping: () => Promise<{ readonly runsForgotten: number; readonly deliveriesForgotten: number }>
  /** Rejects where the warehouse does not answer. */
  readonly ping: () => Promise<void>
  readonly close: () => Promise<void>
}

const idleRunRetentionMs = 7 * 86_400_000
const deliveryRetentionMs = 30 * 86_400_000

/** Throws UserError where the warehouse cannot be opened. */
export async function openWorkerContext(config: Config, options: WorkerContextOptions): Promise<WorkerContext> {
  const warehouse = await openWarehouse(config.databaseUrl)
  const budgets = await openRequestBudgets(config.queueUrl, warehouse, options.log).catch(async (error: unknown) => {
    await warehouse.close()
    throw error
  })
  const connections = openConnections()
  const resources: WorkerResources = { ...options, warehouse, budgets, connections, isNewMessage: createRepeatFilter() }
  const { workerState: fleet } = warehouse
  const workerId = randomUUID()
  const leaderLocks = createLeaderLocks(warehouse)

  return {
    runSyncSlice: (project, ask) => runSyncSlice(resources, project, ask),
    lanes: createOutboxLanes(resources),
    storeDelivery: (projectId, body) => storeDelivery(warehouse, projectId, body),
    processDeliveries: (project, ask) => processDeliveries(resources, project, ask),
    dueDeliveries: () => warehouse.deliveries.firstDuePerProject(Date.now()),
    pendingChildStreams: async ({ projectId, streams }) => {
      const mirrored = (Object.keys(parentStreams) as ChildStreamName[]).filter((stream) => streams.includes(stream))
      const due = await fleet.pendingChildStreams(projectId, Date.now())
      const read = mirrored.filter((stream) => !due.includes(stream))
      await fleet.markStreamsSynced(projectId, read, Date.now())
      return mirrored.filter((stream) => due.includes(stream))
    },
    areRollupsBehind: (project) => areRollupsBehind(warehouse, project),
    allPendingChildStreams: () => fleet.allPendingChildStreams(Date.now()),
    lastCompletions: async () => {
      const completionTimes = (of: ReadonlyMap<StreamName, { at: EpochMs | null; skipped: boolean }>) =>
        new Map([...of].flatMap(([stream, { at, skipped }]) => ((at ?? skipped) ? [[stream, at ?? 0] as const] : [])))
      return new Map([...(await fleet.streamStates())].map(([project, of]) => [project, completionTimes(of)]))
    },
    mirrorHealth: (projects) => readMirrorHealth(resources, projects),
    failureLog: warehouse.jobFailures,
    tryLead: leaderLocks.tryLead,
    recordHeartbeat: (queue) => fleet.recordHeartbeat(workerId, queue, Date.now()),
    runHousekeeping: async () => {
      const runsForgotten = await fleet.deleteIdleRuns(Date.now() - idleRunRetentionMs)
      const old = await warehouse.deliveries.deleteOlderThan(Date.now() - deliveryRetentionMs)
      const deliveriesForgotten = old + (await warehouse.deliveries.trimDone())
      await warehouse.analyzeTables()
      return { runsForgotten, deliveriesForgotten }
    },
    ping: () => fleet.ping(),
    close: async () => {
      await leaderLocks.release()
      await fleet.removeWorker(workerId).catch(() => {})
      budgets.close()
      await connections.close()
      await warehouse.close()
    },
  }
}
