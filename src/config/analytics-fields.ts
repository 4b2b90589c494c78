/** The fields of the settings below `analytics`. */
import { z } from 'zod'
import type { Holidays, OpeningHours, Target, Weekday, WeeklyHours } from '../core/analytics/analytics-settings.ts'
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

const hoursOfDay = z
  .union([z.string(), z.array(z.string())], { error: 'write hours like 9:00-12:30, a list of them, or closed' })
  .transform((text, context): readonly OpeningHours[] => {
    const stretches = [text].flat().map(parseOpeningHours)
    if (stretches.every((stretch) => stretch !== undefined)) return mergeStretches(stretches.flat())
    const message = 'write hours like 9:00-12:30 (before midnight: 24:00), a list of them, or closed'
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  })

/** Keys may name several days. */
export const weeklyHours = z
  .record(z.string(), hoursOfDay, { error: 'write a map of days and hours, like { mon-fri: 9:00-17:00 }' })
  .transform((map, context): WeeklyHours => {
    const week = new Map<Weekday, readonly OpeningHours[]>()
    for (const [days, hours] of Object.entries(map)) {
      const weekdays = parseDays(days)
      const problem = weekdays === undefined ? 'name days like mon, mon-fri or sat, sun' : namedTwice(weekdays, week)
      if (problem !== null) context.addIssue({ code: 'custom', message: problem, path: [days] })
      for (const weekday of weekdays ?? []) week.set(weekday, hours)
    }
    return Object.fromEntries(week)
  })

function namedTwice(weekdays: readonly Weekday[], week: ReadonlyMap<Weekday, unknown>): string | null {
  return weekdays.some((weekday) => week.has(weekday)) ? 'names a day that another line names, too: keep one' : null
}

const date = z.iso.date({ error: 'write a date, like 2025-12-24' })

export const holidays: z.ZodType<Holidays> = z
  .record(z.string(), hoursOfDay, {
    error: 'write a map of dates and hours, like { 2025-12-24: 9:00-12:00, 2025-12-25: closed }',
  })
  .superRefine((map, context) => {
    for (const key of Object.keys(map)) {
      if (date.safeParse(key).success) continue
      context.addIssue({ code: 'custom', message: 'name a date, like 2025-12-24', path: [key] })
    }
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
