/** Four real processes on each shared store never pass the budget, whoever dies and whatever is lost. */
import { describe, expect, test } from 'vitest'
import type { BudgetPolicy } from '../../../src/core/rate-limit/budget.ts'
import { startCountingService, startProcessGroup } from './process-group.ts'
import { storeKinds, injectFaults } from './scenario.ts'
import { createRandom, maxInWindow } from '../../core/rate-limit/simulated-world.ts'

const windowMs = 2000
const limit = 60
const policy: BudgetPolicy = { rate: { requests: limit, windowMs }, writeRate: { requests: 12, windowMs }, reserve: 0 }
const seed = Date.now() % 100_000

describe.concurrent('four processes', () => {
  const title = 'are killed and stopped, and still no window ever holds more requests than there are slots'
  test.for(storeKinds)(`${title}: $name (seed ${seed})`, async ({ make }, { onTestFinished }) => {
    const dice = createRandom(seed)
    const { url, faults: harms } = await make(onTestFinished)
    const counter = await startCountingService(dice, onTestFinished)
    const fleet = startProcessGroup({ store: url, service: counter.url, policy, timeoutMs: 1000 }, 4, onTestFinished)
    await counter.next(2 * limit)
    expect(fleet.lost).toEqual([])
    await injectFaults(fleet, harms, dice)
    // They get going again.
    await counter.next(limit)
    expect(maxInWindow(counter.arrivals, windowMs)).toBeLessThanOrEqual(Math.floor(0.95 * limit))
    expect(fleet.lost.length).toBeGreaterThan(0)
  })
})
