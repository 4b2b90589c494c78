/** Minutes of what `npm test` has seconds for: the whole budget is used while nobody is harmed, and never passed at all. */
import { expect, test } from 'vitest'
import type { BudgetPolicy } from '../../src/core/budget.ts'
import { startCounter, startFleet } from '../budget/fleet.ts'
import { places, trouble } from '../budget/ordeal.ts'
import { createDice, most, within } from '../budget/world.ts'

const windowMs = 5000
const limit = 150
const policy: BudgetPolicy = { rate: { requests: limit, windowMs }, writeRate: { requests: 30, windowMs }, reserve: 0 }
const seed = Date.now() % 100_000

for (const count of [2, 4]) {
  test.for(places)(
    `${count} processes use at least 92 % of the limit through $name`,
    async ({ make }, { onTestFinished }) => {
      const { url } = await make(onTestFinished)
      const counter = await startCounter(createDice(seed), onTestFinished)
      const fleet = startFleet({ store: url, service: counter.url, policy, timeoutMs: 1000 }, count, onTestFinished)
      await counter.next(2 * limit)
      const from = performance.now()
      await counter.next(4 * limit)
      const until = performance.now()
      expect(within(counter.arrivals, from, until) / ((until - from) / windowMs) / limit).toBeGreaterThanOrEqual(0.92)
      expect(most(counter.arrivals, windowMs)).toBeLessThanOrEqual(Math.floor(0.95 * limit))
      expect(fleet.lost).toEqual([])
    },
  )
}

test.for(places)(
  `ten rounds of trouble never make them pass it through $name (seed ${seed})`,
  async ({ make }, { onTestFinished }) => {
    const dice = createDice(seed)
    const { url, harms } = await make(onTestFinished)
    const counter = await startCounter(dice, onTestFinished)
    const fleet = startFleet({ store: url, service: counter.url, policy, timeoutMs: 1000 }, 4, onTestFinished)
    await counter.next(limit)
    for (let round = 0; round < 10; round += 1) {
      await trouble(fleet, harms, dice)
      await counter.next(limit)
    }
    expect(most(counter.arrivals, windowMs)).toBeLessThanOrEqual(Math.floor(0.95 * limit))
  },
)
