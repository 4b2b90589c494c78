/** What a request's place in its budget costs a Redis that many keys use at once. */
import { setTimeout as sleep } from 'node:timers/promises'
import pMap from 'p-map'
import { createBudget } from '../../src/api/budget.ts'
import { openRedis } from '../../src/api/redis-cell.ts'
import { createSharedStore } from '../../src/api/shared-store.ts'
import { usualDeadlineMs } from '../../src/core/budget/budget.ts'
import type { BudgetCell } from '../../src/core/budget/cell.ts'
import { redisUse, spentSince } from './redis-use.ts'

/** Of one request, from asking to giving back. `serverMs`: CPU of Redis. */
export type BudgetCost = { readonly serverMs: number; readonly commands: number }

const keys = 200
const keysAtOnce = 50
/** Few enough to go without a pace. */
const requestsEach = 40
/** Each by itself, as they come at the pace of a long pass: those that come together share their steps. */
const apartMs = 20

export async function measureBudgets(url: string): Promise<BudgetCost> {
  const cells = openRedis(url)
  const before = await redisUse(url)
  const names = Array.from({ length: keys }, (_, n) => `fleet-${n}`)
  await pMap(names, (name) => spend(cells.cell(name)), { concurrency: keysAtOnce })
  const { cpuMs, commands } = spentSince(before, await redisUse(url))
  cells.close()
  const requests = keys * requestsEach
  return { serverMs: cpuMs / requests, commands: commands / requests }
}

async function spend(cell: BudgetCell): Promise<void> {
  const policy = {
    rate: { requests: 600, windowMs: 60_000 },
    writeRate: { requests: 120, windowMs: 60_000 },
    reserve: 0,
  }
  const budget = createBudget(
    createSharedStore({ policy, cell, use: { isQuiet: async () => true, note: async () => {} }, onLost: () => {} }),
  )
  for (let n = 0; n < requestsEach; n++) {
    const lease = await budget.acquire({ lane: 'fresh', write: false, deadlineMs: usualDeadlineMs })
    await sleep(apartMs)
    budget.answered(lease)
    await sleep(apartMs)
  }
}
