/** When a schedule fires, as in the queue. */
import { CronExpressionParser } from 'cron-parser'
import type { Recurrence } from '../../jobs/backends/backend.ts'
import type { EpochMs } from '../../src/values/time.ts'

/** The first time after `after`. */
export function nextFiring(recurrence: Recurrence, after: EpochMs): EpochMs {
  if ('pattern' in recurrence) {
    return CronExpressionParser.parse(recurrence.pattern, {
      currentDate: new Date(after),
      tz: recurrence.tz,
    })
      .next()
      .getTime()
  }
  const { every, offset } = recurrence
  return (Math.floor((after - offset) / every) + 1) * every + offset
}
