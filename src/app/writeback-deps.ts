/** Write-backs with real parts: the queue in the warehouse, the service behind its budget. */
import pRetry from 'p-retry'
import type { ProjectConfig } from '../config/load.ts'
import type { OutboxRepository } from '../core/outbox/repository.ts'
import { UserError } from '../core/user-error.ts'
import type { Logger } from '../log.ts'
import type { Warehouse } from '../warehouse/open.ts'
import type { WritebackDeps } from '../writeback/deps.ts'
import type { WarehouseRetry } from './warehouse-retry.ts'
import type { Service } from './service.ts'

/** How many lanes one process works on side by side: enough to use up the writes of a key, answers of a second included. */
export const maxConcurrentLanes = 6

export function writebackDeps(
  warehouse: Warehouse,
  project: ProjectConfig,
  service: Service,
  log: Logger,
  warehouseRetry?: WarehouseRetry,
): WritebackDeps {
  const { client, signal } = service
  return {
    projectId: project.projectId,
    get: client.get,
    send: client.send,
    outbox: withSettleRetries(warehouse.outbox(project.projectId), warehouseRetry),
    mirror: warehouse.mirror(project.projectId, { schema: project.schema }),
    verifyAfterMs: project.verifyAfterMs,
    resendReplies: project.resendReplies,
    now: Date.now,
    random: Math.random,
    signal,
    log,
  }
}

/**
 * What the service answered is known here only: a database that is just being restarted is told again and again, for half
 * a minute, or for as long as a command is patient anyway. Told twice, it takes the first time.
 */
function withSettleRetries(outbox: OutboxRepository, warehouseRetry: WarehouseRetry | undefined): OutboxRepository {
  if (warehouseRetry !== undefined) return outbox
  const retryOptions = { retries: 10, minTimeout: 100, maxTimeout: 5000 } as const
  return { ...outbox, settleSent: (writeback, transition) => pRetry(() => outbox.settleSent(writeback, transition), retryOptions) }
}

/** Who has decided what a recall notes. */
export const readOnlySetting = 'DESKMIRROR_READ_ONLY'

/** Before anything is claimed: what is queued stays so. */
export function rejectReadOnly({ name, readOnly }: ProjectConfig): void {
  if (!readOnly) return
  throw new UserError({
    what: `nothing of the project ${name} is sent`,
    why: `writing to the service is switched off (${readOnlySetting})`,
    next: 'set DESKMIRROR_READ_ONLY=0 (`read_only` in deskmirror.yaml), or leave it out, where writing is meant',
    exitCode: 2,
  })
}
