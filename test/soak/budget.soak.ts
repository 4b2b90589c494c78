/** Long versions of the tests of the budget: it is used fully, and never exceeded. */
import { describe, expect, test } from 'vitest'
import type { BudgetPolicy } from '../../src/service/core/budget-policy.ts'
import { countBetween, maxInWindow } from '../service/core/simulated-world.ts'
import { startCountingService, startProcessGroup } from '../service/rate-limit/process-group.ts'
import { injectFaults, storeKinds } from '../service/rate-limit/scenario.ts'
import { seededRandom } from '../support/seeded-random.ts'

// The rate of a usual key, in shorter windows: the time of each grant weighs six times as much as
// in a minute.
const windowMs = 10_000
const limit = 100
const policy: BudgetPolicy = {
  rate: { requests: limit, windowMs },
  writeRate: { requests: 20, windowMs },
  reserve: 0,
  rateMargin: 0.02,
}
const seed = Date.now() % 100_000

for (const count of [2, 4]) {
  test.for(storeKinds)(
    `${count} processes use at least 92 % of the limit through $name`,
    async ({ make }, { onTestFinished }) => {
      const { url } = await make(onTestFinished)
      const counter = await startCountingService(seededRandom(seed), onTestFinished)
      const fleet = startProcessGroup(
        { store: url, service: counter.url, policy, timeoutMs: 1000 },
        count,
        onTestFinished,
      )
      await counter.next(limit)
      const from = performance.now()
      await counter.next(3 * limit)
      const until = performance.now()
      expect(
        countBetween(counter.arrivals, from, until) / ((until - from) / windowMs) / limit,
      ).toBeGreaterThanOrEqual(0.92)
      expect(maxInWindow(counter.arrivals, windowMs)).toBeLessThanOrEqual(Math.floor(0.98 * limit))
      expect(fleet.lost).toEqual([])
    },
  )
}

describe.concurrent('four processes', () => {
  const short: BudgetPolicy = { ...policy, rate: { requests: 60, windowMs: 2000 } }
  test.for(storeKinds)(
    `never exceed it in ten rounds of faults: $name (seed ${seed})`,
    async ({ make }, { onTestFinished }) => {
      const random = seededRandom(seed)
      const { url, faults } = await make(onTestFinished)
      const counter = await startCountingService(random, onTestFinished)
      const fleet = startProcessGroup(
        { store: url, service: counter.url, policy: short, timeoutMs: 1000 },
        4,
        onTestFinished,
      )
      await counter.next(60)
      for (let step = 0; step < 10; step += 1) {
        await injectFaults(fleet, faults, random)
        await counter.next(60)
      }
      expect(maxInWindow(counter.arrivals, 2000)).toBeLessThanOrEqual(58)
    },
  )
})
