/** Measures what a request's slot in the budget costs a Redis that many keys use concurrently. */
import { setTimeout as sleep } from 'node:timers/promises'
import pMap from 'p-map'
import { defaultMaxDurationMs } from '../../src/service/core/acquire-slot.ts'
import type { BudgetRecord } from '../../src/service/core/budget-record.ts'
import { createSharedStore } from '../../src/service/rate-limit/budget-store.ts'
import { openRedisRecords } from '../../src/service/rate-limit/redis-record.ts'
import { createRequestBudget } from '../../src/service/rate-limit/request-budget.ts'
import { type ReadRedisUse, usedSince } from './redis-use.ts'

/** Per request, from acquiring to releasing the slot. `serverMs`: CPU of Redis. */
export type BudgetCost = { readonly serverMs: number; readonly commands: number }

const keys = 200
const keysAtOnce = 50
/** Few enough to stay within the burst. */
const requestsEach = 40
/**
 * Requests come one by one, at the pace of a long sync: concurrent ones would share their steps.
 */
const pauseMs = 20

export async function measureBudgetCost(url: string, readUse: ReadRedisUse): Promise<BudgetCost> {
  const records = openRedisRecords(url)
  const before = await readUse()
  const names = Array.from({ length: keys }, (_, n) => `fleet-${n}`)
  await pMap(names, (name) => sendRequests(records.record(name)), { concurrency: keysAtOnce })
  const { cpuMs, commands } = usedSince(before, await readUse())
  records.close()
  const requests = keys * requestsEach
  return { serverMs: cpuMs / requests, commands: commands / requests }
}

async function sendRequests(record: BudgetRecord): Promise<void> {
  const policy = {
    rate: { requests: 600, windowMs: 60_000 },
    writeRate: { requests: 120, windowMs: 60_000 },
    reserve: 0,
    rateMargin: 0.02,
  }
  const budget = createRequestBudget(
    createSharedStore({
      policy,
      record,
      keyUse: { isUnusedFor: async () => true, recordUse: async () => {} },
      onClosed: () => {},
    }),
  )
  for (let n = 0; n < requestsEach; n++) {
    const slot = await budget.acquire({
      priority: 'fresh',
      write: false,
      maxDurationMs: defaultMaxDurationMs,
    })
    await sleep(pauseMs)
    budget.releaseResponded(slot)
    await sleep(pauseMs)
  }
}
