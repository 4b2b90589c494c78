/** The days of the rollups, and where the service may let each begin and end. */
import { daySeconds, type EpochSeconds, hourSeconds, minuteSeconds, type Seconds } from '../time.ts'
import { createTimeZone, localDayOf, startOfDay } from './time-zone.ts'

/** A day of the rollups: a window as the service was asked for it. */
export type RollupWindow = { readonly from: EpochSeconds; readonly to: EpochSeconds; readonly readAt: EpochSeconds }

/** What the service may make of a window. */
export type Border = {
  /** '' = as asked. */
  readonly name: string
  /** Of two definitions that fit equally, the lower one is the more likely. */
  readonly complexity: number
  readonly of: (window: RollupWindow) => Pick<RollupWindow, 'from' | 'to'>
}

/** Zones that services count in: those of their owners, mostly. */
export const likelyZones = [
  'UTC',
  'America/New_York',
  'America/Los_Angeles',
  'Europe/London',
  'Europe/Berlin',
  'Asia/Kolkata',
  'Australia/Sydney',
] as const

/** One zone of each other clock, for a service whose numbers fit no likely one. All at once would prove less. */
export const otherZones = [
  'Pacific/Honolulu',
  'America/Anchorage',
  'America/Phoenix',
  'America/Denver',
  'America/Mexico_City',
  'America/Chicago',
  'America/Bogota',
  'America/Halifax',
  'America/Sao_Paulo',
  'America/St_Johns',
  'Atlantic/Azores',
  'Africa/Lagos',
  'Africa/Johannesburg',
  'Africa/Cairo',
  'Asia/Jerusalem',
  'Europe/Athens',
  'Europe/Moscow',
  'Asia/Tehran',
  'Asia/Dubai',
  'Asia/Kabul',
  'Asia/Karachi',
  'Asia/Kathmandu',
  'Asia/Dhaka',
  'Asia/Yangon',
  'Asia/Bangkok',
  'Asia/Shanghai',
  'Asia/Tokyo',
  'Australia/Darwin',
  'Australia/Adelaide',
  'Australia/Brisbane',
  'Pacific/Auckland',
  'Pacific/Chatham',
  'Pacific/Apia',
] as const

/** `zones`: whose days the service may count. */
export function rollupBorders(zones: readonly string[]): Border[] {
  const shifted = (from: number, to: number) => (window: RollupWindow) => ({
    from: window.from + from,
    to: window.to + to,
  })
  return [
    { name: '', complexity: 0, of: (window) => window },
    ...zones.map((zone) => ({ name: `in the day of ${zone}`, complexity: zone === 'UTC' ? 1 : 2, of: dayOf(zone) })),
    { name: 'with the last second', complexity: 2, of: shifted(0, 1) },
    { name: 'without the first second', complexity: 3, of: shifted(1, 1) },
    { name: 'an hour later', complexity: 3, of: shifted(hourSeconds, hourSeconds) },
  ]
}

/** The zone's day of the date that has most of the window in UTC. */
function dayOf(name: string): Border['of'] {
  const zone = createTimeZone(name)
  const utc = createTimeZone('UTC')
  return ({ from }) => {
    const day = localDayOf(utc, from + daySeconds / 2)
    return { from: startOfDay(zone, day), to: startOfDay(zone, day + 1) }
  }
}

/** The days of all borders. Their numbers are those of the first border, window by window, then of the next. */
export type RollupDays = {
  /** Oldest first. */
  readonly windows: readonly RollupWindow[]
  readonly borders: readonly Border[]
  /** By number. */
  readonly days: readonly RollupWindow[]
  /** The first second of all days, and the first after them. */
  readonly from: EpochSeconds
  readonly to: EpochSeconds
  /** Numbers of the days that the time is in: one of each border, mostly. */
  readonly daysAt: (at: EpochSeconds) => Int32Array
  /** Days begin with a multiple of it or with the second after one. */
  readonly step: Seconds
}

/** Of borders that are the same for all windows, the first one stays. */
export function createRollupDays(windows: readonly RollupWindow[], borders: readonly Border[]): RollupDays {
  const spansOf = (border: Border) =>
    windows.map((window) => `${border.of(window).from} ${border.of(window).to}`).join()
  const first = new Map(borders.toReversed().map((border) => [spansOf(border), border]))
  return toRollupDays(
    windows,
    borders.filter((border) => first.get(spansOf(border)) === border),
  )
}

/** Some of the days. `copy`: puts what was found, by day of the part, among that of all days. */
export type PartOfDays = {
  readonly days: RollupDays
  readonly copy: (found: Float64Array, all: Float64Array) => void
}

/** The days of consecutive windows. */
export function partOfDays({ windows, borders }: RollupDays, first: number, end: number): PartOfDays {
  const days = toRollupDays(windows.slice(first, end), borders)
  const size = days.windows.length
  const copy: PartOfDays['copy'] = (found, all) => {
    for (const border of borders.keys())
      all.set(found.subarray(border * size, (border + 1) * size), border * windows.length + first)
  }
  return { days, copy }
}

function toRollupDays(windows: readonly RollupWindow[], borders: readonly Border[]): RollupDays {
  const days = borders.flatMap((border) => windows.map((window) => ({ ...border.of(window), readAt: window.readAt })))
  const bounds = [...new Set(days.flatMap(({ from, to }) => [from, to]))].sort((a, b) => a - b)
  return {
    ...{ windows, borders, days, from: bounds[0] ?? 0, to: bounds.at(-1) ?? 0 },
    daysAt: createDaysAt(bounds, days),
    step: steps.find((step) => bounds.every((bound) => mod(bound, step) <= 1)) ?? 1,
  }
}

/** The hours of all zones begin with a quarter of an hour. */
const steps: readonly Seconds[] = [15 * minuteSeconds, minuteSeconds, 1]
const mod = (value: number, divisor: number) => ((value % divisor) + divisor) % divisor
const noDays = new Int32Array()

/** All bounds of all days cut time into pieces, in each of which all times are in the same days. */
function createDaysAt(bounds: readonly EpochSeconds[], days: readonly RollupWindow[]): RollupDays['daysAt'] {
  const numberOf = new Map(bounds.map((bound, index) => [bound, index]))
  const numbers = bounds.slice(1).map((): number[] => [])
  for (const [day, { from, to }] of days.entries())
    for (const piece of numbers.slice(numberOf.get(from), numberOf.get(to))) piece.push(day)
  const pieces = numbers.map((ofPiece) => Int32Array.from(ofPiece))
  // Most times follow one that is near.
  let last = { from: 0, to: 0, days: noDays }
  return (at) => {
    if (at >= last.from && at < last.to) return last.days
    const next = firstAfter(bounds, at)
    const [from, to] = [bounds[next - 1] ?? Number.NEGATIVE_INFINITY, bounds[next] ?? Number.POSITIVE_INFINITY]
    last = { from, to, days: pieces[next - 1] ?? noDays }
    return last.days
  }
}

/** The index of the first bound after that time. */
function firstAfter(bounds: readonly EpochSeconds[], at: EpochSeconds): number {
  let [low, high] = [0, bounds.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((bounds[middle] ?? 0) > at) high = middle
    else low = middle + 1
  }
  return low
}
