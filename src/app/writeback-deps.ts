/** Connects the write-back use case to the warehouse and the rate-limited service. */
import pRetry from 'p-retry'
import type { ProjectConfig } from '../config/config.ts'
import type { Logger } from '../log.ts'
import type { WritebackDeps } from '../outbox/operations/operation-handler.ts'
import type { Outbox } from '../outbox/sql/outbox.ts'
import { UserError } from '../values/user-error.ts'
import type { Warehouse } from './open.ts'
import type { Service } from './service.ts'
import type { WarehouseRetry } from './warehouse-retry.ts'

/** Lanes per process: enough to use a key's write rate when responses take a second. */
export const maxConcurrentLanes = 6

export async function writebackDeps(
  warehouse: Warehouse,
  project: ProjectConfig,
  service: Service,
  log: Logger,
  warehouseRetry?: WarehouseRetry,
): Promise<WritebackDeps> {
  const { client, signal } = service
  return {
    ...project,
    get: client.get,
    send: client.send,
    outbox: withSettleRetries(warehouse.outbox(project.projectId), warehouseRetry),
    mirror: warehouse.mirror(project.projectId, { schema: project.schema }),
    now: await warehouse.readClock(),
    random: Math.random,
    signal,
    log,
  }
}

/**
 * Retries storing an outcome while the database restarts, for about half a minute, because only this process knows the
 * response. Commands with warehouse retries wait longer anyway. Storing an outcome is idempotent.
 */
function withSettleRetries(outbox: Outbox, warehouseRetry: WarehouseRetry | undefined): Outbox {
  if (warehouseRetry !== undefined) return outbox
  const retryOptions = { retries: 10, minTimeout: 100, maxTimeout: 5000 } as const
  return {
    ...outbox,
    settleSent: (writeback, transition) => pRetry(() => outbox.settleSent(writeback, transition), retryOptions),
  }
}

/** Recorded as the author of revocations when writing is switched off. */
export const readOnlySetting = 'DESKMIRROR_READ_ONLY'

/** Called before anything is claimed, so that queued write-backs stay queued. */
export function rejectReadOnly({ name, readOnly }: ProjectConfig): void {
  if (!readOnly) return
  throw new UserError({
    what: `nothing is sent for the project ${name}`,
    why: `writing to the service is switched off (${readOnlySetting})`,
    next: 'to allow writing, set DESKMIRROR_READ_ONLY=0 (`read_only` in deskmirror.yaml) or leave it out',
    exitCode: 2,
  })
}
