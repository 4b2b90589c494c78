/** Business hours as people write them: `mon-fri`, `9:00-12:30`, `closed`. */
import { z } from 'zod'
import type { LocalDate, Weekday } from '../values/time.ts'

/** Minutes of the day, 0 to 1440; `closes` is excluded. */
export type OpeningHours = { readonly opens: number; readonly closes: number }

/** A day that is left out is closed. */
export type WeeklyHours = Readonly<Partial<Record<Weekday, readonly OpeningHours[]>>>

/** The hours of single dates, in place of those of their weekday; none = closed. */
export type Holidays = Readonly<Record<LocalDate, readonly OpeningHours[]>>

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
function hoursBy(
  key: z.ZodType<string, string>,
  allowed: { readonly map: string; readonly key: string },
) {
  return z.record(key, hoursOfDay, {
    error: ({ code }) => (code === 'invalid_key' ? allowed.key : allowed.map),
  })
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
    if (weekdays.some((weekday) => week.has(weekday)))
      context.addIssue({ code: 'custom', message, path: [key] })
    for (const weekday of weekdays) week.set(weekday, hoursOfDays)
  }
  return Object.fromEntries(week)
})

export const date = z.iso.date({ error: 'write a date, like 2025-12-24' })
export const holidays = hoursBy(date, {
  map: 'write a map of dates and hours, like { 2025-12-24: 9:00-12:00, 2025-12-25: closed }',
  key: 'name a date, like 2025-12-24',
})

const dayNames: readonly string[] = [
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
  'sunday',
]
const weekdays: readonly Weekday[] = [1, 2, 3, 4, 5, 6, 7]

/** The days of `mon`, `mon-fri` or `sat, sun`; else undefined. `fri-mon` is four days. */
export function parseDays(text: string): readonly Weekday[] | undefined {
  const parts = text.split(',').map(parseDayRange)
  return parts.every((part) => part !== undefined) ? [...new Set(parts.flat())] : undefined
}

function parseDayRange(text: string): readonly Weekday[] | undefined {
  const [first = '', last = first, ...more] = text
    .split('-')
    .map((name) => name.trim().toLowerCase())
  const from = indexOfDay(first)
  const to = indexOfDay(last)
  if (from < 0 || to < 0 || more.length > 0) return undefined
  return to < from
    ? [...weekdays.slice(from), ...weekdays.slice(0, to + 1)]
    : weekdays.slice(from, to + 1)
}

/** `mon`, `Monday`; -1 for anything else. */
const indexOfDay = (name: string): number =>
  dayNames.findIndex((day) => name === day || name === day.slice(0, 3))

/** The stretches of `9:00-12:30`, `9-12:30, 13-18` or `closed`, in order; else undefined. */
export function parseOpeningHours(text: string): readonly OpeningHours[] | undefined {
  if (text.trim() === 'closed') return []
  const stretches = text.split(',').map(parseStretch)
  return stretches.every((stretch) => stretch !== undefined) ? stretches : undefined
}

function parseStretch(text: string): OpeningHours | undefined {
  const match = /^(\d{1,2})(?::([0-5]\d))?\s*-\s*(\d{1,2})(?::([0-5]\d))?$/.exec(text.trim())
  if (match === null) return undefined
  const [opens = 0, closes = 0] = [match.slice(1, 3), match.slice(3)].map(
    ([h, m = 0]) => Number(h) * 60 + Number(m),
  )
  return opens < closes && closes <= 1440 ? { opens, closes } : undefined
}

/** In order; stretches that touch or overlap are one. */
function mergeStretches(stretches: readonly OpeningHours[]): readonly OpeningHours[] {
  const merged: OpeningHours[] = []
  for (const stretch of stretches.toSorted((a, b) => a.opens - b.opens)) {
    const last = merged.at(-1)
    if (last === undefined || stretch.opens > last.closes) merged.push(stretch)
    else
      merged[merged.length - 1] = {
        opens: last.opens,
        closes: Math.max(last.closes, stretch.closes),
      }
  }
  return merged
}
