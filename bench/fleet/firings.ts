/** When a schedule fires, as the queue would have it. */
import { CronExpressionParser } from 'cron-parser'
import type { Recurrence } from '../../jobs/backends/schedule.ts'
import type { EpochMs } from '../../src/core/time.ts'

/** The first moment after `after`. */
export function nextFiring(rhythm: Recurrence, after: EpochMs): EpochMs {
  if ('pattern' in rhythm) {
    return CronExpressionParser.parse(rhythm.pattern, { currentDate: new Date(after), tz: rhythm.tz })
      .next()
      .getTime()
  }
  const { every, offset } = rhythm
  return (Math.floor((after - offset) / every) + 1) * every + offset
}
