/** The request budgets of this process, one a key, each kept where all that use the key can share it: in Redis if the queue is there, else in the warehouse. */
import { createHash } from 'node:crypto'
import { type Budget, createBudget } from '../api/budget.ts'
import { openRedis } from '../api/redis-cell.ts'
import { createSharedStore } from '../api/shared-store.ts'
import { createMemoryStore } from '../api/state-store.ts'
import type { ProjectConfig } from '../config.ts'
import type { Logger } from '../log.ts'
import type { Warehouse } from '../warehouse/open.ts'

export type Budgets = {
  readonly of: (project: ProjectConfig) => Budget
  /** Those that have been used. */
  readonly known: (project: ProjectConfig) => Budget | null
  readonly close: () => void
}

/** `warehouse` null: there is none yet, so nobody to share with. Throws UserError where the URL of Redis is none. */
export function openBudgets(queueUrl: string, warehouse: Warehouse | null, log: Logger): Budgets {
  const redis = /^rediss?:/.test(queueUrl)
    ? openRedis(queueUrl, (why) => log.debug({ event: 'budget.unreachable', why }))
    : null
  const opened = new Map<string, Budget>()

  const open = (project: ProjectConfig, name: string): Budget => {
    const { rate, writeRate, reserve, projectId } = project
    const policy = { rate, writeRate, reserve }
    const cell = redis?.cell(name) ?? warehouse?.budgetCell(name)
    const use = warehouse?.keyUse(name)
    if (cell === undefined || use === undefined) return createBudget(createMemoryStore(policy))
    const onLost = (why: string) => {
      log.warn({ event: 'budget.closed', project: project.name, why })
      warehouse?.fleet.noteLostBudget(projectId, why, Date.now()).catch(() => {})
    }
    return createBudget(createSharedStore({ policy, cell, use, onLost }))
  }

  return {
    of: (project) => {
      const name = fingerprint(project)
      const budget = opened.get(name) ?? open(project, name)
      opened.set(name, budget)
      return budget
    },
    known: (project) => opened.get(fingerprint(project)) ?? null,
    close: () => redis?.close(),
  }
}

/** Names a key without showing it: the service counts by key, whatever project it is for. */
export function fingerprint({ baseUrl, apiKey }: Pick<ProjectConfig, 'baseUrl' | 'apiKey'>): string {
  return createHash('sha256').update(`${baseUrl.origin}\n${apiKey.reveal()}`).digest('hex').slice(0, 24)
}
