/** The request budgets of this process, one a key, each kept where all that use the key can share it: in Redis if the queue is there, else in the warehouse. */
import { createHash } from 'node:crypto'
import { type Budget, createBudget } from '../api/budget.ts'
import { openRedis } from '../api/redis-cell.ts'
import { createSharedStore } from '../api/shared-store.ts'
import { createMemoryStore } from '../api/state-store.ts'
import type { ProjectConfig } from '../config.ts'
import type { BudgetStore } from '../core/budget/store.ts'
import { UserError } from '../core/user-error.ts'
import type { Logger } from '../log.ts'
import type { Warehouse } from '../warehouse/open.ts'
import { sayWhenOpen } from './budget-opening.ts'
import type { Patience } from './patience.ts'

export type Budgets = {
  readonly of: (project: ProjectConfig) => Budget
  /** Those that have been used. */
  readonly known: (project: ProjectConfig) => Budget | null
  readonly close: () => void
}

/**
 * `warehouse` null: there is none yet, so nobody to share with. Throws UserError where the URL of Redis is none, and where
 * a worker keeps its budgets elsewhere. `patience`: with a warehouse that keeps them.
 */
export async function openBudgets(
  queueUrl: string,
  warehouse: Warehouse | null,
  log: Logger,
  patience?: Patience,
): Promise<Budgets> {
  const inRedis = /^rediss?:/.test(queueUrl)
  if (warehouse !== null) await refuseToPart(inRedis, warehouse)
  const redis = inRedis ? openRedis(queueUrl, (why) => log.debug({ event: 'budget.unreachable', why })) : null
  /** Budgets that are closed, and watched until they open. */
  const opening = new Set<string>()
  let closed = false
  const opened = new Map<string, { readonly terms: string; readonly budget: Budget }>()

  const open = (project: ProjectConfig, name: string): Budget => {
    const { rate, writeRate, reserve, projectId } = project
    const policy = { rate, writeRate, reserve }
    const cell = redis?.cell(name) ?? warehouse?.budgetCell(name)
    const use = warehouse?.keyUse(name)
    if (cell === undefined || use === undefined) return createBudget(createMemoryStore(policy))
    const onLost = (why: string) => {
      log.warn({ event: 'budget.closed', project: project.name, why })
      warehouse?.fleet.noteLostBudget(projectId, why, Date.now()).catch(() => {})
      if (opening.has(name)) return
      opening.add(name)
      void sayWhenOpen(project.name, budget, log, () => closed).finally(() => opening.delete(name))
    }
    const store = createSharedStore({ policy, cell, use, onLost })
    // A slot that was taken without our hearing of it comes back by itself.
    const take: BudgetStore['take'] = (...asked) => patience?.keep(() => store.take(...asked)) ?? store.take(...asked)
    const budget = createBudget({ ...store, take })
    return budget
  }

  return {
    of: (project) => {
      const [name, terms] = [fingerprint(project), termsOf(project)]
      const known = opened.get(name)
      // A rate that was changed while the worker runs holds from the next pass on.
      if (known?.terms === terms) return known.budget
      const budget = open(project, name)
      opened.set(name, { terms, budget })
      return budget
    },
    known: (project) => opened.get(fingerprint(project))?.budget ?? null,
    close: () => {
      closed = true
      redis?.close()
    },
  }
}

function termsOf({ rate, writeRate, reserve }: ProjectConfig): string {
  return JSON.stringify([rate, writeRate, reserve])
}

/** Two budgets for one key would each spend the whole of it. */
async function refuseToPart(inRedis: boolean, warehouse: Warehouse): Promise<void> {
  const other = (await warehouse.fleet.workers(Date.now())).find(({ queue }) => (queue === 'redis') !== inRedis)
  if (other === undefined) return
  throw new UserError({
    what: 'cannot share the request budget with the worker that runs',
    why: `${other.holder} keeps it in ${inRedis ? 'the warehouse' : 'Redis'}, and DESKMIRROR_QUEUE_URL says another place here`,
    next: `set DESKMIRROR_QUEUE_URL here to what the worker has (its queue is ${other.queue}), or stop the worker`,
    exitCode: 2,
  })
}

/** Names a key without showing it: the service counts by key, whatever project it is for. */
export function fingerprint({ baseUrl, apiKey }: Pick<ProjectConfig, 'baseUrl' | 'apiKey'>): string {
  return createHash('sha256').update(`${baseUrl.origin}\n${apiKey.reveal()}`).digest('hex').slice(0, 24)
}
