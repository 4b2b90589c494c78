/** Schedules as people write them: an interval, a cron pattern, `nightly`, `off`. */
import { CronExpressionParser } from 'cron-parser'
import { z } from 'zod'
import { parseDuration } from '../core/duration.ts'
import { defaultSchedules, type Schedule, type ScheduleName, type Schedules } from '../core/schedule.ts'
import type { Ms } from '../core/time.ts'
import { parsedField } from './fields.ts'

const minIntervalMs: Ms = 1000
const maxIntervalMs: Ms = 366 * 86_400_000

/** Undefined for an invalid schedule, and for a pattern that never fires. */
export function parseSchedule(text: string): Schedule | undefined {
  if (text === 'off' || text === 'nightly') return { kind: text }
  const ms = parseDuration(text)
  if (ms !== undefined) return ms >= minIntervalMs && ms <= maxIntervalMs ? { kind: 'every', ms } : undefined
  return isCron(text) ? { kind: 'cron', pattern: text } : undefined
}

/** Uses the library that runs the pattern; by itself it would also accept fewer fields and random values (`H`). */
function isCron(pattern: string): boolean {
  const fields = pattern.split(/\s+/)
  if (fields.length < 5 || fields.length > 6 || /(^|[\s,])H/i.test(pattern)) return false
  try {
    return CronExpressionParser.parse(pattern).hasNext()
  } catch {
    return false
  }
}

const allowed = 'write a duration of at least 1s like 5m, a cron pattern like "0 3 * * *", nightly, or off'
const schedule = parsedField(allowed, parseSchedule)

type ScheduleKey = `schedules.${ScheduleName}`

/** Each schedule is a setting of its own, so that a project can change one and inherit the others. */
export const scheduleFields = {
  schedules: z.undefined({ error: 'write a map, like { incremental: 5m, reconcile: nightly }' }).optional(),
  'schedules.incremental': schedule.default(defaultSchedules.incremental),
  'schedules.reconcile': schedule.default(defaultSchedules.reconcile),
  'schedules.analytics': schedule.default(defaultSchedules.analytics),
  'schedules.availability': schedule.default(defaultSchedules.availability),
} satisfies Record<ScheduleKey | 'schedules', unknown>

export function toSchedules(fields: Readonly<Record<ScheduleKey, Schedule>>): Schedules {
  return {
    incremental: fields['schedules.incremental'],
    reconcile: fields['schedules.reconcile'],
    analytics: fields['schedules.analytics'],
    availability: fields['schedules.availability'],
  }
}
