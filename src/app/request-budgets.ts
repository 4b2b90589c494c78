/** The request budgets of this process, one a key, each kept where all that use the key can share it: in Redis if the queue is there, else in the warehouse. */
import { createHash } from 'node:crypto'
import { type RequestBudget, createRequestBudget } from '../api/rate-limit/request-budget.ts'
import { openRedisRecords } from '../api/rate-limit/redis-record.ts'
import { createSharedStore } from '../api/rate-limit/shared-store.ts'
import { createMemoryStore } from '../api/rate-limit/state-store.ts'
import type { ProjectConfig } from '../config/load.ts'
import type { BudgetStore } from '../core/rate-limit/budget-store.ts'
import { UserError } from '../core/user-error.ts'
import type { Logger } from '../log.ts'
import type { Warehouse } from '../warehouse/open.ts'
import { logWhenBudgetOpens } from './log-budget-opening.ts'
import type { WarehouseRetry } from './warehouse-retry.ts'

export type RequestBudgets = {
  readonly forProject: (project: ProjectConfig) => RequestBudget
  /** Those that have been used. */
  readonly ifOpened: (project: ProjectConfig) => RequestBudget | null
  readonly close: () => void
}

/**
 * `warehouse` null: there is none yet, so nobody to share with. Throws UserError where the URL of Redis is none, and where
 * a worker keeps its budgets elsewhere. `patience`: with a warehouse that keeps them.
 */
export async function openRequestBudgets(
  queueUrl: string,
  warehouse: Warehouse | null,
  log: Logger,
  warehouseRetry?: WarehouseRetry,
): Promise<RequestBudgets> {
  const inRedis = /^rediss?:/.test(queueUrl)
  if (warehouse !== null) await assertSameBudgetStore(inRedis, warehouse)
  const redis = inRedis ? openRedisRecords(queueUrl, (why) => log.debug({ event: 'budget.unreachable', why })) : null
  /** Budgets that are closed, and watched until they open. */
  const watchedBudgets = new Set<string>()
  let closed = false
  const openedBudgets = new Map<string, { readonly terms: string; readonly budget: RequestBudget }>()

  const open = (project: ProjectConfig, name: string): RequestBudget => {
    const { rate, writeRate, reserve, projectId } = project
    const policy = { rate, writeRate, reserve }
    const record = redis?.record(name) ?? warehouse?.budgetRecord(name)
    const keyUse = warehouse?.keyUse(name)
    if (record === undefined || keyUse === undefined) return createRequestBudget(createMemoryStore(policy))
    const onClosed = (why: string) => {
      log.warn({ event: 'budget.closed', project: project.name, why })
      warehouse?.projects.recordBudgetLoss(projectId, why, Date.now()).catch(() => {})
      if (watchedBudgets.has(name)) return
      watchedBudgets.add(name)
      void logWhenBudgetOpens(project.name, budget, log, () => closed).finally(() => watchedBudgets.delete(name))
    }
    const store = createSharedStore({ policy, record, keyUse, onClosed })
    // A slot that was taken without our hearing of it comes back by itself.
    const take: BudgetStore['acquire'] = (...args) => warehouseRetry?.run(() => store.acquire(...args)) ?? store.acquire(...args)
    const budget = createRequestBudget({ ...store, acquire: take })
    return budget
  }

  return {
    forProject: (project) => {
      const [name, terms] = [keyFingerprint(project), policyKey(project)]
      const known = openedBudgets.get(name)
      // A rate that was changed while the worker runs holds from the next pass on.
      if (known?.terms === terms) return known.budget
      const budget = open(project, name)
      openedBudgets.set(name, { terms, budget })
      return budget
    },
    ifOpened: (project) => openedBudgets.get(keyFingerprint(project))?.budget ?? null,
    close: () => {
      closed = true
      redis?.close()
    },
  }
}

function policyKey({ rate, writeRate, reserve }: ProjectConfig): string {
  return JSON.stringify([rate, writeRate, reserve])
}

/** Two budgets for one key would each spend the whole of it. */
async function assertSameBudgetStore(inRedis: boolean, warehouse: Warehouse): Promise<void> {
  const other = (await warehouse.workers.listLive(Date.now())).find(({ queue }) => (queue === 'redis') !== inRedis)
  if (other === undefined) return
  throw new UserError({
    what: 'cannot share the request budget with the worker that runs',
    why: `${other.holder} keeps it in ${inRedis ? 'the warehouse' : 'Redis'}, and DESKMIRROR_QUEUE_URL says another place here`,
    next: `set DESKMIRROR_QUEUE_URL here to what the worker has (its queue is ${other.queue}), or stop the worker`,
    exitCode: 2,
  })
}

/** Names a key without showing it: the service counts by key, whatever project it is for. */
export function keyFingerprint({ baseUrl, apiKey }: Pick<ProjectConfig, 'baseUrl' | 'apiKey'>): string {
  return createHash('sha256').update(`${baseUrl.origin}\n${apiKey.reveal()}`).digest('hex').slice(0, 24)
}
