/** The budget of a usual key. */
import type { BudgetPolicy } from '../../src/service/core/budget-policy.ts'

const windowMs = 60_000

export const usualPolicy: BudgetPolicy = {
  rate: { requests: 600, windowMs },
  writeRate: { requests: 120, windowMs },
  reserve: 0,
  rateMargin: 0.02,
}
