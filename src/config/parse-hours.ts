/** Business hours as people write them: `mon-fri`, `9:00-12:30`, `closed`. */
import type { OpeningHours, Weekday } from '../core/analytics/analytics-settings.ts'

const dayNames: readonly string[] = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday']
const weekdays: readonly Weekday[] = [1, 2, 3, 4, 5, 6, 7]

/** The days of `mon`, `mon-fri` or `sat, sun`; undefined for anything else. `fri-mon` is four days. */
export function parseDays(text: string): readonly Weekday[] | undefined {
  const parts = text.split(',').map(parseDayRange)
  return parts.every((part) => part !== undefined) ? [...new Set(parts.flat())] : undefined
}

function parseDayRange(text: string): readonly Weekday[] | undefined {
  const [first = '', last = first, ...more] = text.split('-').map((name) => name.trim().toLowerCase())
  const [from, to] = [indexOfDay(first), indexOfDay(last)]
  if (from < 0 || to < 0 || more.length > 0) return undefined
  return to < from ? [...weekdays.slice(from), ...weekdays.slice(0, to + 1)] : weekdays.slice(from, to + 1)
}

/** `mon`, `Monday`; -1 for anything else. */
function indexOfDay(name: string): number {
  return dayNames.findIndex((day) => name === day || name === day.slice(0, 3))
}

/** The stretches of `9:00-12:30`, `9-12:30, 13-18` or `closed`, in order; undefined for anything else. */
export function parseOpeningHours(text: string): readonly OpeningHours[] | undefined {
  if (text.trim() === 'closed') return []
  const stretches = text.split(',').map(parseStretch)
  return stretches.every((stretch) => stretch !== undefined) ? stretches : undefined
}

function parseStretch(text: string): OpeningHours | undefined {
  const match = /^(\d{1,2})(?::(\d\d))?\s*-\s*(\d{1,2})(?::(\d\d))?$/.exec(text.trim())
  const [opens, closes] = [minuteOfDay(match?.[1], match?.[2]), minuteOfDay(match?.[3], match?.[4])]
  return match !== null && opens < closes && closes <= 1440 ? { opens, closes } : undefined
}

/** More than a day for a minute that does not exist. */
function minuteOfDay(hour = '', minute = '0'): number {
  return Number(minute) < 60 ? Number(hour) * 60 + Number(minute) : Number.POSITIVE_INFINITY
}

/** In order; stretches that touch or overlap are one. */
export function mergeStretches(stretches: readonly OpeningHours[]): readonly OpeningHours[] {
  const merged: OpeningHours[] = []
  for (const stretch of stretches.toSorted((a, b) => a.opens - b.opens)) {
    const last = merged.at(-1)
    if (last === undefined || stretch.opens > last.closes) merged.push(stretch)
    else merged[merged.length - 1] = { opens: last.opens, closes: Math.max(last.closes, stretch.closes) }
  }
  return merged
}
