/** The request budgets of this process, one for each key, shared through Redis or the warehouse. */

import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config, ProjectConfig } from '../config/config.ts'
import {
  type BudgetLocation,
  backendKindOf,
  budgetLocationOf,
  queueBackends,
} from '../config/queue-backends.ts'
import type { Logger } from '../log.ts'
import { recordBudgetLoss } from '../maintenance/sql/projects.ts'
import { listLiveWorkers } from '../maintenance/sql/workers.ts'
import type { Priority } from '../service/core/api-request.ts'
import type { BudgetPolicy } from '../service/core/budget-policy.ts'
import {
  type BudgetStore,
  createMemoryStore,
  createSharedStore,
} from '../service/rate-limit/budget-store.ts'
import { createRequestBudget, type RequestBudget } from '../service/rate-limit/request-budget.ts'
import { createBudgetRecord, createKeyUse } from '../service/sql/budget-records.ts'
import {
  addMinutes,
  type BudgetPause,
  type MinuteRequests,
  recordPause,
} from '../service/sql/request-counts.ts'
import type { ProjectId, ProjectName } from '../values/project.ts'
import { type Ms, minuteMs } from '../values/time.ts'
import { UserError } from '../values/user-error.ts'
import type { Use } from '../values/with-opened.ts'
import type { Db } from '../warehouse/connection-pool.ts'
import { addressOptions, openWarehouse, type Warehouse } from './open.ts'

/** Most commands need no Redis, whose client takes a while to load. */
const recordsOutside = {
  redis: async () => (await import('../service/rate-limit/redis-record.ts')).openRedisRecords,
  warehouse: async () => null,
} satisfies Record<BudgetLocation, unknown>

export type RequestBudgets = Awaited<ReturnType<typeof openRequestBudgets>>

/**
 * `warehouse` null: there is none yet, so nobody to share with. Throws UserError if the URL of
 * Redis is not valid, or a worker keeps its budgets elsewhere.
 */
export async function openRequestBudgets(
  queueUrl: string,
  warehouse: Warehouse | null,
  log: Logger,
) {
  const { sharesBudgetsThrough } = queueBackends[backendKindOf(queueUrl)]
  if (warehouse !== null) await assertSameBudgetLocation(sharesBudgetsThrough, warehouse)
  const onUnreachable = (why: string) => log.debug({ event: 'budget.unreachable', why })
  const openRecords = await recordsOutside[sharesBudgetsThrough]()
  const redis = openRecords?.(queueUrl, onUnreachable) ?? null
  /** Names of the closed budgets that are polled until they reopen. */
  const watchedBudgets = new Set<string>()
  const recorder = warehouse === null ? null : createBudgetRecorder(warehouse.db)
  let isClosed = false
  const openedBudgets = new Map<
    string,
    { readonly policy: string; readonly budget: RequestBudget }
  >()

  const open = (project: ProjectConfig, name: string): RequestBudget => {
    const { projectId } = project
    const policy = policyOf(project)
    if (warehouse === null) return createRequestBudget(createMemoryStore(policy))
    const keyUse = createKeyUse(warehouse, name)
    const record = redis?.record(name) ?? createBudgetRecord(warehouse, name)
    const onClosed = (why: string | null) => {
      const shown = why ?? 'it was closed before this process began; `deskmirror status` says why'
      log.warn({ event: 'budget.closed', project: project.name, why: shown })
      if (why !== null) recordBudgetLoss(warehouse.db, projectId, why, Date.now()).catch(() => {})
      if (watchedBudgets.has(name)) return
      watchedBudgets.add(name)
      const from = Date.now()
      void logWhenBudgetOpens(project.name, budget, log, () => isClosed).finally(() => {
        watchedBudgets.delete(name)
        recorder?.addPause(projectId, { kind: 'closed', from, to: Date.now() })
      })
    }
    const store = createSharedStore({ policy, record, keyUse, onClosed })
    // A slot whose grant did not reach us expires by itself.
    const acquire: BudgetStore['acquire'] = (...args) =>
      warehouse.retry.run(() => store.acquire(...args))
    const budget = createRequestBudget({ ...store, acquire })
    return budget
  }

  const opened = (project: ProjectConfig): RequestBudget => {
    const name = keyFingerprint(project)
    const policy = JSON.stringify(policyOf(project))
    const known = openedBudgets.get(name)
    // A rate that changes while the worker runs applies from the next sync run on.
    if (known?.policy === policy) return known.budget
    const budget = open(project, name)
    openedBudgets.set(name, { policy, budget })
    return budget
  }
  return {
    forProject: (project: ProjectConfig): RequestBudget => {
      const budget = opened(project)
      return recorder?.watch(budget, project) ?? budget
    },
    /** Null if this process has not used it yet. */
    ifOpened: (project: ProjectConfig): RequestBudget | null =>
      openedBudgets.get(keyFingerprint(project))?.budget ?? null,
    /** In Redis; null: the budgets are in the warehouse. */
    numbers: redis?.numbers ?? null,
    close: async () => {
      isClosed = true
      await Promise.all([...openedBudgets.values()].map(({ budget }) => budget.flush()))
      redis?.close()
      await recorder?.close()
    },
  }
}

/** For commands that need no mirror: there may be none yet. */
export async function openBudgetsOnly(use: Use, config: Config, log: Logger) {
  const options = { ...addressOptions(config), access: 'read' } as const
  const warehouse = await openWarehouse(config.databaseUrl, options).catch(() => null)
  if (warehouse !== null) use(warehouse)
  return use(await openRequestBudgets(config.queueUrl, warehouse, log))
}

function policyOf({ rate, writeRate, reserve, rateMargin }: ProjectConfig): BudgetPolicy {
  return { rate, writeRate, reserve, rateMargin }
}

const locationNames: Readonly<Record<BudgetLocation, string>> = {
  redis: 'Redis',
  warehouse: 'the warehouse',
}

/** Two budgets for one key would each allow the whole rate. */
async function assertSameBudgetLocation(
  location: BudgetLocation,
  warehouse: Warehouse,
): Promise<void> {
  const workers = await warehouse.retry.run(() => listLiveWorkers(warehouse.db, Date.now()))
  const other = workers.find(({ queue }) => budgetLocationOf(queue) !== location)
  if (other === undefined) return
  const theirs = budgetLocationOf(other.queue)
  const where = theirs === null ? 'another store' : locationNames[theirs]
  throw new UserError({
    what: 'cannot share the request budget with the running worker',
    why: `${other.holder} keeps it in ${where}, and DESKMIRROR_QUEUE_URL names another store here`,
    next:
      'set DESKMIRROR_QUEUE_URL to the value that the worker has (its queue is ' +
      `${other.queue}), or stop the worker`,
  })
}

/** Identifies a key without showing it: the service counts requests by key, not by project. */
export function keyFingerprint({
  baseUrl,
  apiKey,
}: Pick<ProjectConfig, 'baseUrl' | 'apiKey'>): string {
  return createHash('sha256')
    .update(`${baseUrl.origin}\n${apiKey.reveal()}`)
    .digest('hex')
    .slice(0, 24)
}

/** Of a closed budget: another process may close it again, or its store may be away. */
const pollEveryMs: Ms = 5000

/** Unless `isStopped` first. Does not keep the process alive. */
export async function logWhenBudgetOpens(
  project: ProjectName,
  budget: RequestBudget,
  log: Logger,
  isStopped: () => boolean,
): Promise<void> {
  const since = Date.now()
  while (!isStopped()) {
    const { closedForMs } = await budget.view().catch(() => ({ closedForMs: pollEveryMs }))
    if (closedForMs === null)
      return log.info({ event: 'budget.opened', project, for_ms: Date.now() - since })
    await sleep(Math.min(closedForMs, pollEveryMs) + 1, undefined, { ref: false })
  }
}

/**
 * Counts requests by the minute, and notes pauses, for the chart of the budget. What cannot be
 * written is dropped: no work depends on it.
 */
function createBudgetRecorder(db: Db) {
  const counts = new Map<string, MinuteRequests & { requests: number; throttled: number }>()
  const countOf = (project: ProjectId, priority: Priority) => {
    const minute = Math.floor(Date.now() / minuteMs) * minuteMs
    const key = `${project}\n${minute}\n${priority}`
    const known = counts.get(key) ?? { project, minute, priority, requests: 0, throttled: 0 }
    counts.set(key, known)
    return known
  }
  const flush = async () => {
    const written = [...counts.values()]
    counts.clear()
    await addMinutes(db, written).catch(() => {})
  }
  const addPause = (project: ProjectId, pause: BudgetPause) =>
    void recordPause(db, project, pause).catch(() => {})
  const timer = setInterval(() => void flush(), minuteMs).unref()
  return {
    addPause,
    /** The same budget, whose use is counted for the project. */
    watch: (
      budget: RequestBudget,
      { projectId }: Pick<ProjectConfig, 'projectId'>,
    ): RequestBudget => {
      const priorities = new WeakMap<object, Priority>()
      return {
        ...budget,
        acquire: async (request) => {
          const grant = await budget.acquire(request)
          priorities.set(grant, request.priority)
          countOf(projectId, request.priority).requests += 1
          return grant
        },
        releaseUnsent: (slot) => {
          const priority = priorities.get(slot)
          if (priority !== undefined) countOf(projectId, priority).requests -= 1
          budget.releaseUnsent(slot)
        },
        recordThrottle: async (slot, waitMs) => {
          countOf(projectId, priorities.get(slot) ?? 'fresh').throttled += 1
          addPause(projectId, { kind: 'throttled', from: Date.now(), to: Date.now() + waitMs })
          await budget.recordThrottle(slot, waitMs)
        },
      }
    },
    close: async () => {
      clearInterval(timer)
      await flush()
    },
  }
}
