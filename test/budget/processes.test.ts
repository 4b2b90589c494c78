/** Four real processes on each shared store never pass the budget, whoever dies and whatever is lost. */
import { describe, expect, test } from 'vitest'
import type { BudgetPolicy } from '../../src/core/budget/budget.ts'
import { startCounter, startFleet } from './fleet.ts'
import { places, trouble } from './ordeal.ts'
import { createDice, most } from './world.ts'

const windowMs = 2000
const limit = 60
const policy: BudgetPolicy = { rate: { requests: limit, windowMs }, writeRate: { requests: 12, windowMs }, reserve: 0 }
const seed = Date.now() % 100_000

describe.concurrent('four processes', () => {
  const title = 'are killed and stopped, and still no window ever holds more requests than there are slots'
  test.for(places)(`${title}: $name (seed ${seed})`, async ({ make }, { onTestFinished }) => {
    const dice = createDice(seed)
    const { url, harms } = await make(onTestFinished)
    const counter = await startCounter(dice, onTestFinished)
    const fleet = startFleet({ store: url, service: counter.url, policy, timeoutMs: 1000 }, 4, onTestFinished)
    await counter.next(2 * limit)
    expect(fleet.lost).toEqual([])
    await trouble(fleet, harms, dice)
    // They get going again.
    await counter.next(limit)
    expect(most(counter.arrivals, windowMs)).toBeLessThanOrEqual(Math.floor(0.95 * limit))
    expect(fleet.lost.length).toBeGreaterThan(0)
  })
})
