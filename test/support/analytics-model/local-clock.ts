/**
 * The model's clock: local times by luxon, business time by asking every minute whether business is
 * open.
 */
import { DateTime } from 'luxon'
import type { ModelSettings, OpenHours } from './raw-rows.ts'

export type LocalTime = {
  readonly date: string
  readonly weekday: number
  readonly hour: number
  readonly minuteOfDay: number
}

export type LocalClock = {
  readonly localTime: (at: number) => LocalTime
  /** Null for null, so that columns of times that may be missing read as one expression. */
  readonly date: (at: number | null) => string | null
  readonly hour: (at: number | null) => number | null
  readonly businessSeconds: (from: number | null, to: number | null) => number | null
}

/** By zone and minute. Luxon is slow, and all random worlds are near the same few days. */
const localMinutes = new Map<string, Map<number, LocalTime>>()

export function createLocalClock(settings: ModelSettings): LocalClock {
  const { timeZone } = settings
  const known = localMinutes.get(timeZone) ?? new Map<number, LocalTime>()
  localMinutes.set(timeZone, known)
  const localTime = (at: number): LocalTime => {
    const minute = Math.floor(at / 60)
    const local = known.get(minute) ?? readLuxon(minute * 60, timeZone)
    known.set(minute, local)
    return local
  }
  const openMinutes = new Map<number, boolean>()
  const isOpen = (minute: number): boolean => {
    const open = openMinutes.get(minute) ?? isOpenAt(localTime(minute * 60), settings)
    openMinutes.set(minute, open)
    return open
  }
  return {
    localTime,
    date: (at) => (at === null ? null : localTime(at).date),
    hour: (at) => (at === null ? null : localTime(at).hour),
    businessSeconds: (from, to) => {
      if (from === null || to === null) return null
      return from <= to ? countOpenSeconds(from, to, isOpen) : -countOpenSeconds(to, from, isOpen)
    },
  }
}

function readLuxon(at: number, zone: string): LocalTime {
  const local = DateTime.fromSeconds(at, { zone })
  return {
    date: local.toFormat('yyyy-MM-dd'),
    weekday: local.weekday,
    hour: local.hour,
    minuteOfDay: local.hour * 60 + local.minute,
  }
}

/** Opening hours are whole minutes, so a minute is open or closed as a whole. */
function countOpenSeconds(from: number, to: number, isOpen: (minute: number) => boolean): number {
  let sum = 0
  for (let minute = Math.floor(from / 60); minute * 60 < to; minute++) {
    if (isOpen(minute)) sum += Math.min(to, minute * 60 + 60) - Math.max(from, minute * 60)
  }
  return sum
}

function isOpenAt(
  { date, weekday, minuteOfDay }: LocalTime,
  { weekly, holidays }: ModelSettings,
): boolean {
  const roundTheClock: readonly OpenHours[] = [['0:00', '24:00']]
  const hours = holidays[date] ?? (weekly === null ? roundTheClock : (weekly[weekday] ?? []))
  return hours.some(
    ([opens, closes]) => minuteOfDay >= toMinutes(opens) && minuteOfDay < toMinutes(closes),
  )
}

export function toMinutes(clockTime: string): number {
  const [hour = 0, minute = 0] = clockTime.split(':').map(Number)
  return hour * 60 + minute
}

/** The Monday of the week, and the first day of the month, that a local date is in. */
export const mondayOf = (date: string): string => firstDayOf(date, 'week')
export const monthOf = (date: string): string => firstDayOf(date, 'month')

function firstDayOf(date: string, span: 'week' | 'month'): string {
  return DateTime.fromISO(date, { zone: 'UTC' }).startOf(span).toFormat('yyyy-MM-dd')
}

/** The first moment of a local day. */
export function startOfDay(date: string, zone: string): number {
  return DateTime.fromISO(date, { zone }).startOf('day').toUnixInteger()
}

/** The days from one local date to another, both included. */
export function daysBetween(from: string, to: string): string[] {
  const days: string[] = []
  for (
    let day = DateTime.fromISO(from, { zone: 'UTC' });
    day.toFormat('yyyy-MM-dd') <= to;
    day = day.plus({ days: 1 })
  )
    days.push(day.toFormat('yyyy-MM-dd'))
  return days
}

/** 1 = Monday. */
export const weekdayOf = (date: string): number => DateTime.fromISO(date, { zone: 'UTC' }).weekday
