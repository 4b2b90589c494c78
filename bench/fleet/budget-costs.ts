/** What a request's place in its budget costs a Redis that many keys use at once. */
import pMap from 'p-map'
import { createBudget } from '../../src/api/budget.ts'
import { openRedis } from '../../src/api/redis-cell.ts'
import { createSharedStore } from '../../src/api/shared-store.ts'
import { usualDeadlineMs } from '../../src/core/budget.ts'
import { redisUse, spentSince } from './redis-use.ts'

/** Of one request, from asking to giving back. `serverMs`: CPU of Redis. */
export type BudgetCost = { readonly serverMs: number; readonly commands: number }

const keys = 200
const keysAtOnce = 50
/** As many as go without a pace. */
const requestsEach = 100
const requestsAtOnce = 10

export async function measureBudgets(url: string): Promise<BudgetCost> {
  const cells = openRedis(url)
  const before = await redisUse(url)
  const numbered = (count: number) => Array.from({ length: count }, (_, n) => n)
  await pMap(numbered(keys), (n) => spend(cells.cell(`fleet-${n}`), numbered(requestsEach)), {
    concurrency: keysAtOnce,
  })
  const { cpuMs, commands } = spentSince(before, await redisUse(url))
  cells.close()
  const requests = keys * requestsEach
  return { serverMs: cpuMs / requests, commands: commands / requests }
}

async function spend(
  cell: ReturnType<ReturnType<typeof openRedis>['cell']>,
  requests: readonly number[],
): Promise<void> {
  const policy = {
    rate: { requests: 600, windowMs: 60_000 },
    writeRate: { requests: 120, windowMs: 60_000 },
    reserve: 0,
  }
  const budget = createBudget(createSharedStore({ policy, cell, isQuiet: async () => true, onLost: () => {} }))
  const ask = async () => {
    const want = { lane: 'fresh', write: false, deadlineMs: usualDeadlineMs } as const
    budget.answered(await budget.acquire(want))
  }
  await pMap(requests, ask, { concurrency: requestsAtOnce })
}
