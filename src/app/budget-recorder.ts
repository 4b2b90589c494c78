/** Counts the requests of this process by the minute, and notes pauses, for the chart of the budget. */
import type { RequestBudget } from '../api/rate-limit/request-budget.ts'
import type { ProjectConfig } from '../config/config.ts'
import type { BudgetPause } from '../core/console/data.ts'
import type { Priority } from '../core/rate-limit/priority.ts'
import type { EpochMs, Ms } from '../core/time.ts'
import type { MinuteRequests } from '../warehouse/console/budget.ts'
import type { Warehouse } from '../warehouse/open.ts'

const minuteMs: Ms = 60_000

type Count = { requests: number; throttled: number }

/** What cannot be written is dropped: no work depends on it. */
export function createBudgetRecorder(budgetHistory: Warehouse['budgetHistory'], now: () => EpochMs = Date.now) {
  const counts = new Map<string, MinuteRequests & Count>()
  const countOf = (project: string, priority: Priority): Count => {
    const minute = Math.floor(now() / minuteMs) * minuteMs
    const key = `${project}\n${minute}\n${priority}`
    const known = counts.get(key) ?? { project, minute, priority, requests: 0, throttled: 0 }
    counts.set(key, known)
    return known
  }
  const flush = async () => {
    const written = [...counts.values()]
    counts.clear()
    await budgetHistory.add(written).catch(() => {})
  }
  const recordPause = (project: string, pause: BudgetPause) =>
    void budgetHistory.recordPause(project, pause).catch(() => {})
  const timer = setInterval(() => void flush(), minuteMs).unref()
  return {
    recordPause,
    /** The same budget, whose use is counted for the project. */
    watch: (budget: RequestBudget, { projectId }: Pick<ProjectConfig, 'projectId'>): RequestBudget => {
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
          recordPause(projectId, { kind: 'throttled', from: now(), to: now() + waitMs })
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
