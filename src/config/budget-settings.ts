/** How much of the service's rate limit a project uses: its request budget. */
import { z } from 'zod'
import { parseRate } from '../values/time.ts'
import { parsedField } from './fields.ts'
import { fileSetting, setting } from './setting.ts'

const rate = parsedField('write requests per window, like 600/60s', parseRate)

const share = 'write a share between 0 and 0.9, like 0.2'
const reserve = z.number({ error: share }).min(0, share).max(0.9, share)
const margin = 'write a share between 0 and 0.5, like 0.02'
const decimal = z.string().regex(/^\d+(?:\.\d+)?$/)
const rateMargin = z
  .union([z.number(), decimal.transform(Number)], { error: margin })
  .refine((value) => value >= 0 && value <= 0.5, { error: margin })

/** Also that of a project whose configuration is not known. */
export const defaultBudget = {
  rate: { requests: 600, windowMs: 60_000 },
  writeRate: { requests: 120, windowMs: 60_000 },
  rateMargin: 0.02,
  reserve: 0,
}

export const budgetSettings = {
  rate: setting('rate', rate.default(defaultBudget.rate)).about(
    'The rate limit of the key: requests in a window.',
  ),
  writeRate: setting('write_rate', rate.default(defaultBudget.writeRate)).about(
    'How many of these requests may be writes.',
  ),
  rateMargin: setting('rate_margin', rateMargin.default(defaultBudget.rateMargin)).about(
    'The share of both rates that is never used: 0 to 0.5. The default covers a service ' +
      'that counts whole seconds.',
  ),
  reserve: fileSetting('reserve', reserve.default(defaultBudget.reserve)).about(
    'The share of the rate that is left to your other programs: 0 to 0.9.',
  ),
}
