/**
 * What a worker needs longer than one job: the open warehouse, the budgets, its registration among
 * the workers.
 */
import { randomUUID } from 'node:crypto'
import { lockAsOnlyWorker } from '../app/only-worker.ts'
import { addressOptions, openWarehouse, type Warehouse } from '../app/open.ts'
import { openRequestBudgets } from '../app/request-budgets.ts'
import { openSendRecord } from '../app/send-record.ts'
import { type AcquiredLock, allProjects } from '../app/stream-locks.ts'
import type { Config, ProjectConfig } from '../config/config.ts'
import { type BackendKind, backendKindOf, queueBackends } from '../config/queue-backends.ts'
import { doWorkersDiffer, recordWorkerHeartbeat, removeWorker } from '../maintenance/sql/workers.ts'
import { acquireStreamLocks } from '../mirror/sql/stream-locks.ts'
import { openConnections } from '../service/exchange.ts'
import { describeLargeLog } from '../warehouse/sqlite-file.ts'
import { createRepeatFilter } from './job-failures.ts'
import { createNotifier } from './notify.ts'
import { createOutboxLanes } from './outbox-lanes.ts'
import { endPauses, type WorkerResources } from './resources.ts'

export type WorkerContext = Awaited<ReturnType<typeof openWorkerContext>>

/**
 * `onLost`: the worker must stop, as another one has taken over. Throws UserError if the warehouse
 * cannot be used.
 */
export async function openWorkerContext(
  config: Config,
  {
    onLost,
    log,
    metrics,
  }: Pick<WorkerResources, 'log' | 'metrics'> & { readonly onLost: (error: Error) => void },
) {
  const warehouse = await openWarehouse(config.databaseUrl, addressOptions(config))
  let unlock = async () => {}
  const openBudgets = async () => {
    const { databaseUrl, queueUrl } = config
    if (!queueBackends[backendKindOf(queueUrl)].allowsSeveralWorkers)
      unlock = await lockAsOnlyWorker(databaseUrl, warehouse, { log, onLost })
    await endPauses(warehouse, config.projects)
    return openRequestBudgets(queueUrl, warehouse, log)
  }
  const budgets = await openBudgets().catch(async (error: unknown) => {
    await unlock()
    await warehouse.close()
    throw error
  })
  const connections = openConnections()
  const sendRecordOf = (project: ProjectConfig) =>
    openSendRecord(config, project, { warehouse, budgets, log })
  const isNewMessage = createRepeatFilter()
  const resources: WorkerResources = {
    log,
    metrics,
    warehouse,
    budgets,
    connections,
    sendRecordOf,
    isNewMessage,
  }
  const workerId = randomUUID()
  const leadership = createLeaderLock(warehouse, 'leader')
  // A lock of its own: both are asked for at the same time.
  const notifying = createLeaderLock(warehouse, 'notifier')

  return {
    ...resources,
    retention: config.retention,
    lanes: createOutboxLanes(resources),
    tryAcquireLeadership: leadership.tryAcquire,
    notify: createNotifier(config, resources, notifying.tryAcquire),
    /** Records that this worker runs, and how it is configured, for `status` and for the others. */
    recordHeartbeat: (queue: BackendKind, configuration: string) =>
      recordWorkerHeartbeat(warehouse.db, { id: workerId, queue, configuration }, Date.now()),
    /**
     * Whether the running workers have different projects or schedules, as while a change is rolled
     * out.
     */
    workersDiffer: () => doWorkersDiffer(warehouse.db, Date.now()),
    describeLargeLog: () => describeLargeLog(config.databaseUrl),
    close: async () => {
      try {
        await leadership.release()
        await notifying.release()
        await removeWorker(warehouse.db, workerId).catch(() => {})
        await budgets.close()
        await connections.close()
      } finally {
        await unlock().catch(() => {})
        await warehouse.close()
      }
    },
  }
}

/** Leader election: a lock that only one of all workers has. */
function createLeaderLock(warehouse: Warehouse, role: 'leader' | 'notifier') {
  let held: AcquiredLock | null = null
  return {
    /** Acquires or extends the lock; false: another worker has it. */
    tryAcquire: async (): Promise<boolean> => {
      if (await held?.heartbeat(Date.now())) return true
      const lock = await acquireStreamLocks(warehouse.projectDb(allProjects), [role])
      held = lock.held ? lock : null
      return lock.held
    },
    release: async () => held?.release().catch(() => {}),
  }
}
