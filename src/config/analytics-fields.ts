/** The fields of the settings below `analytics`. */
import { z } from 'zod'
import type { OpeningHours, Target, Weekday, WeeklyHours } from '../core/analytics/analytics-settings.ts'
import { parseDuration } from '../core/duration.ts'
import { parsedField } from './fields.ts'
import { mergeStretches, parseDays, parseOpeningHours } from './parse-hours.ts'

/** A duration in whole seconds. */
export const seconds = parsedField('write a duration of at least 1s, like 30m', (text) => {
  const ms = parseDuration(text)
  return ms !== undefined && ms >= 1000 && ms % 1000 === 0 ? ms / 1000 : undefined
})

const role = z.enum(['visitor', 'human', 'ai', 'other'], { error: 'write visitor, human, ai or other' })
export const roles = z.record(z.string(), role, {
  error: 'write a map of sender types and their roles, like { bot: ai, operator: human }',
})

const hours = 'write hours like 9:00-12:30 (up to 24:00), a list of them, or closed'
const hoursOfDay = z.unknown().transform((value, context): readonly OpeningHours[] => {
  const stretches = [value].flat().flatMap((text, index) => {
    const parsed = typeof text === 'string' ? parseOpeningHours(text) : undefined
    if (parsed !== undefined) return parsed
    context.addIssue({ code: 'custom', message: hours, path: Array.isArray(value) ? [index] : [] })
    return []
  })
  return mergeStretches(stretches)
})

/** The hours by keys that `key` accepts. */
function hoursBy(key: z.ZodType<string, string>, allowed: { readonly map: string; readonly key: string }) {
  return z.record(key, hoursOfDay, { error: ({ code }) => (code === 'invalid_key' ? allowed.key : allowed.map) })
}

const days = z.string().refine((text) => parseDays(text) !== undefined)
export const weeklyHours = hoursBy(days, {
  map: 'write a map of days and hours, like { mon-fri: 9:00-17:00 }',
  key: 'name days like mon, mon-fri or sat, sun',
}).transform((map, context): WeeklyHours => {
  const week = new Map<Weekday, readonly OpeningHours[]>()
  for (const [key, hoursOfDays] of Object.entries(map)) {
    const weekdays = parseDays(key) ?? []
    const message = 'names a day that another line names, too: keep one'
    if (weekdays.some((weekday) => week.has(weekday))) context.addIssue({ code: 'custom', message, path: [key] })
    for (const weekday of weekdays) week.set(weekday, hoursOfDays)
  }
  return Object.fromEntries(week)
})

const date = z.iso.date({ error: 'write a date, like 2025-12-24' })
export const holidays = hoursBy(date, {
  map: 'write a map of dates and hours, like { 2025-12-24: 9:00-12:00, 2025-12-25: closed }',
  key: 'name a date, like 2025-12-24',
})

const target = z
  .strictObject(
    {
      name: z.string({ error: 'name the target' }).trim().min(1, 'name the target'),
      clock: z.enum(['any', 'human'], { error: 'write any or human' }).default('any'),
      which: z.enum(['first', 'every'], { error: 'write first or every' }).default('first'),
      within: seconds,
      hours: z.enum(['all', 'business'], { error: 'write all or business' }).default('all'),
      from: date.optional(),
      to: date.optional(),
    },
    { error: 'write a target, like { name: first answer, within: 15m }' },
  )
  .refine(({ from, to }) => from === undefined || to === undefined || from < to, {
    error: 'must end after it begins',
    path: ['to'],
  })
  .transform(
    ({ name, clock, which, within, hours, from, to }): Target => ({
      name,
      clock,
      which,
      withinSeconds: within,
      inBusinessHours: hours === 'business',
      from: from ?? null,
      to: to ?? null,
    }),
  )

/** Several of one name follow each other. */
export const targets = z
  .array(target, { error: 'write a list of targets, like [{ name: first answer, within: 15m }]' })
  .superRefine((list, context) => {
    for (const [index, { name, from }] of list.entries()) {
      const isRepeated = list.slice(0, index).some((other) => other.name === name && other.from === from)
      const message = 'has the name of another target: give it another one, or another from'
      if (isRepeated) context.addIssue({ code: 'custom', message, path: [index] })
    }
  })

const fieldPath = parsedField('write the name of a field, or a path like visitor.id', (text) =>
  /^[\w-]+(\.[\w-]+)*$/.test(text) ? text : undefined,
)
const optionalPath = fieldPath.nullish().transform((path) => path ?? null)

export const callFields = z.strictObject(
  { visitor: optionalPath, ended: optionalPath, outcome: optionalPath, duration: optionalPath },
  { error: 'write a map, like { visitor: visitorId, duration: durationSeconds }' },
)

export const activityFields = z
  .strictObject(
    { activity_kind: optionalPath, activity_page: optionalPath },
    { error: 'write a map, like { activity_kind: type, activity_page: url }' },
  )
  .transform(({ activity_kind, activity_page }) => ({ activityKind: activity_kind, activityPage: activity_page }))
