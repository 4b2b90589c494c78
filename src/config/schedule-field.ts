/** Schedules as people write them: an interval, a cron pattern, `nightly`, `off`. */
import { type Ms, parseDuration } from '../values/time.ts'
import { parsedField } from './fields.ts'
import { loadCronParser, type Schedule } from './schedules.ts'

const minIntervalMs: Ms = 1000
const maxIntervalMs: Ms = 366 * 86_400_000

/** Undefined for an invalid schedule, and for a pattern that never fires. */
export function parseSchedule(text: string): Schedule | undefined {
  if (text === 'off' || text === 'nightly') return { kind: text }
  const ms = parseDuration(text)
  if (ms !== undefined)
    return ms >= minIntervalMs && ms <= maxIntervalMs ? { kind: 'every', ms } : undefined
  return isCron(text) ? { kind: 'cron', pattern: text } : undefined
}

/** The library that runs it would also accept fewer fields, and random values (`H`). */
function isCron(pattern: string): boolean {
  const fields = pattern.split(/\s+/)
  if (fields.length < 5 || fields.length > 6 || /(^|[\s,])H/i.test(pattern)) return false
  try {
    return loadCronParser().CronExpressionParser.parse(pattern).hasNext()
  } catch {
    return false
  }
}

const allowed =
  'write a duration of at least 1s like 5m, a cron pattern like "0 3 * * *", nightly, or off'
export const scheduleField = parsedField(allowed, parseSchedule)
