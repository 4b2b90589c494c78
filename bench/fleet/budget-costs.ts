/** What a request's place in its budget costs a Redis that many keys use at once. */
import { setTimeout as sleep } from 'node:timers/promises'
import pMap from 'p-map'
import { createRequestBudget } from '../../src/api/rate-limit/request-budget.ts'
import { openRedisRecords } from '../../src/api/rate-limit/redis-record.ts'
import { createSharedStore } from '../../src/api/rate-limit/shared-store.ts'
import { defaultDeadlineMs } from '../../src/core/rate-limit/acquire-slot.ts'
import type { BudgetRecord } from '../../src/core/rate-limit/budget-record.ts'
import { redisUse, usedSince } from './redis-use.ts'

/** Of one request, from asking to giving back. `serverMs`: CPU of Redis. */
export type BudgetCost = { readonly serverMs: number; readonly commands: number }

const keys = 200
const keysAtOnce = 50
/** Few enough to go without a pace. */
const requestsEach = 40
/** Each by itself, as they come at the pace of a long pass: those that come together share their steps. */
const pauseMs = 20

export async function measureBudgetCost(url: string): Promise<BudgetCost> {
  const cells = openRedisRecords(url)
  const before = await redisUse(url)
  const names = Array.from({ length: keys }, (_, n) => `fleet-${n}`)
  await pMap(names, (name) => sendRequests(cells.record(name)), { concurrency: keysAtOnce })
  const { cpuMs, commands } = usedSince(before, await redisUse(url))
  cells.close()
  const requests = keys * requestsEach
  return { serverMs: cpuMs / requests, commands: commands / requests }
}

async function sendRequests(cell: BudgetRecord): Promise<void> {
  const policy = {
    rate: { requests: 600, windowMs: 60_000 },
    writeRate: { requests: 120, windowMs: 60_000 },
    reserve: 0,
  }
  const budget = createRequestBudget(
    createSharedStore({ policy, record: cell, keyUse: { isUnusedFor: async () => true, recordUse: async () => {} }, onClosed: () => {} }),
  )
  for (let n = 0; n < requestsEach; n++) {
    const lease = await budget.acquire({ priority: 'fresh', write: false, deadlineMs: defaultDeadlineMs })
    await sleep(pauseMs)
    budget.releaseAnswered(lease)
    await sleep(pauseMs)
  }
}
