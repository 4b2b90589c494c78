/**
 * Three real processes on a shared store never exceed the budget, whichever dies and whatever is
 * lost. The soak has four of them, and ten rounds.
 */
import { describe, expect, test } from 'vitest'
import type { BudgetPolicy } from '../../../src/service/core/budget-policy.ts'
import { sampled } from '../../support/sampled.ts'
import { seededRandom } from '../../support/seeded-random.ts'
import { maxInWindow } from '../core/simulated-world.ts'
import { startCountingService, startProcessGroup } from './process-group.ts'
import { injectFaults, storeKinds } from './scenario.ts'

const windowMs = 2000
const limit = 60
const policy: BudgetPolicy = {
  rate: { requests: limit, windowMs },
  writeRate: { requests: 12, windowMs },
  reserve: 0,
  rateMargin: 0.02,
}
const seed = Date.now() % 100_000

describe.concurrent('three processes', () => {
  const title =
    'are killed and suspended, and no window ever holds more requests than there are slots'
  // The other Redis crashes and is flushed as well, and forgets at both; a worker on a cluster loses
  // a master. The other database has the same compare-and-set, see `stores.test.ts`.
  const sample = sampled(
    storeKinds,
    ({ name }) => name.includes('SQLite') || name === 'a Redis that keeps nothing',
  )
  test.for(sample)(`${title}: $name (seed ${seed})`, async ({ make }, { onTestFinished }) => {
    const random = seededRandom(seed)
    const { url, faults } = await make(onTestFinished)
    const counter = await startCountingService(random, onTestFinished)
    const group = startProcessGroup(
      { store: url, service: counter.url, policy, timeoutMs: 1000 },
      3,
      onTestFinished,
    )
    await counter.next(2 * limit)
    expect(group.lost).toEqual([])
    await injectFaults(group, faults, random, 1)
    // They continue.
    await counter.next(limit)
    expect(maxInWindow(counter.arrivals, windowMs)).toBeLessThanOrEqual(Math.floor(0.98 * limit))
    expect(group.lost.length).toBeGreaterThan(0)
  })
})
