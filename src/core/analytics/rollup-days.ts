/** The days of the rollups, and where the service may let each begin and end. */
import { daySeconds, type EpochSeconds, hourSeconds } from '../time.ts'
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

/** From the first piece to before the end. */
type PieceRange = readonly [first: number, end: number]

/** All bounds of all days cut time into pieces, so that each day of each border is some pieces in a row. */
export type RollupDays = {
  /** Oldest first. */
  readonly windows: readonly RollupWindow[]
  /** Pieces by window. */
  readonly borders: readonly { readonly border: Border; readonly ranges: readonly PieceRange[] }[]
  /** When the days that a piece is part of were read, first and last. */
  readonly pieces: readonly { readonly firstReadAt: EpochSeconds; readonly lastReadAt: EpochSeconds }[]
  /** The first second of the first piece, and the first after the last. */
  readonly from: EpochSeconds
  readonly to: EpochSeconds
  /** Null outside of all pieces. */
  readonly pieceOf: (at: EpochSeconds) => number | null
  /** In seconds of the day in UTC, ascending: pieces begin only then. */
  readonly cuts: readonly number[]
}

/** Of borders that are the same for all windows, the first one stays. */
export function createRollupDays(windows: readonly RollupWindow[], borders: readonly Border[]): RollupDays {
  const spans = borders.map((border) => ({ border, days: windows.map((window) => border.of(window)) }))
  const bounds = [...new Set(spans.flatMap(({ days }) => days.flatMap(({ from, to }) => [from, to])))]
  bounds.sort((a, b) => a - b)
  const numberOf = new Map(bounds.map((bound, index) => [bound, index]))
  const ranges = spans.map(({ border, days }) => ({
    border,
    ranges: days.map(({ from, to }): PieceRange => [numberOf.get(from) ?? 0, numberOf.get(to) ?? 0]),
  }))
  const different = new Map(ranges.toReversed().map((entry) => [entry.ranges.join(' '), entry]))
  const pieceOf = (at: EpochSeconds) => {
    const next = firstAfter(bounds, at)
    return next === 0 || next === bounds.length ? null : next - 1
  }
  return {
    windows,
    borders: ranges.filter((entry) => different.get(entry.ranges.join(' ')) === entry),
    pieces: readTimes(Math.max(0, bounds.length - 1), ranges, windows),
    from: bounds[0] ?? 0,
    to: bounds.at(-1) ?? 0,
    pieceOf,
    cuts: [...new Set(bounds.map((bound) => ((bound % daySeconds) + daySeconds) % daySeconds))].sort((a, b) => a - b),
  }
}

/** A piece of no day has a first reading after its last one. */
function readTimes(pieces: number, borders: RollupDays['borders'], windows: readonly RollupWindow[]) {
  const unread = { firstReadAt: Number.POSITIVE_INFINITY, lastReadAt: Number.NEGATIVE_INFINITY }
  const reads = Array.from({ length: pieces }, () => ({ ...unread }))
  for (const { ranges } of borders) {
    for (const [index, [first, end]] of ranges.entries()) {
      const { readAt } = windows[index] ?? { readAt: 0 }
      for (const piece of reads.slice(first, end)) {
        piece.firstReadAt = Math.min(piece.firstReadAt, readAt)
        piece.lastReadAt = Math.max(piece.lastReadAt, readAt)
      }
    }
  }
  return reads
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
