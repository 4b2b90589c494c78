/**
 * Infers from its pages which time field orders a list. A wrong guess loses rows, so every field
 * that no page contradicts stays a candidate, and cursors are safe under all of them.
 */
import type { EpochSeconds } from '../../../values/time.ts'

/** The times of one item, by dotted path. */
export type RowTimes = ReadonlyMap<string, EpochSeconds>

/** `forward`: the pages begin with the oldest rows; `backward`: with the newest. */
export type ScanDirection = 'forward' | 'backward'

export type SortOrder = {
  /** Candidates for the sort field; never empty. */
  readonly fields: readonly string[]
  /** Null: no two different times seen yet. */
  readonly direction: 'ascending' | 'descending' | null
}

/** The time bounds of a request; undefined = not sent. */
export type TimeBounds = {
  readonly lower?: EpochSeconds | undefined
  readonly upper?: EpochSeconds | undefined
}

export type OrderObservation = {
  readonly order: SortOrder | null
  /** `unordered`: by none of its times. */
  readonly fit: 'agrees' | 'contradicts' | 'unordered'
}

/**
 * Fewer rows may be in order by chance, or out of order by a stale copy, so they change nothing.
 */
export const minConclusiveRows = 10

/** The assumed order after another page. One row in fifty may be a stale copy. */
export function inferOrder(
  assumed: SortOrder | null,
  rows: readonly RowTimes[],
  bounds: TimeBounds,
): OrderObservation {
  const unchanged = { order: assumed, fit: 'agrees' } as const
  if (rows.length === 0) return unchanged
  const names = new Set([...(rows[0]?.keys() ?? []), ...(rows.at(-1)?.keys() ?? [])])
  const trends = [...names].flatMap((field) => toFieldTrend(field, rows, bounds) ?? [])
  const direction = commonDirection(trends)
  const consistent = trends
    .filter((field) => direction === null || field[direction])
    .map((field) => field.name)
  const remaining = assumed?.fields.filter((field) => consistent.includes(field)) ?? consistent
  const isReversed =
    assumed?.direction != null && direction !== null && direction !== assumed.direction
  const known = assumed?.direction ?? direction
  if (remaining.length > 0 && !isReversed)
    return { order: { fields: remaining, direction: known }, fit: 'agrees' }
  if (rows.length < minConclusiveRows) return unchanged
  if (consistent.length > 0 && direction !== null)
    return {
      order: { fields: consistent, direction },
      fit: assumed === null ? 'agrees' : 'contradicts',
    }
  // No field orders so many rows, so a cursor by the assumed order could skip some.
  return { order: null, fit: 'unordered' }
}

/** Undefined if rows between others lack it, or are outside the requested bounds. */
function toFieldTrend(name: string, rows: readonly RowTimes[], bounds: TimeBounds) {
  const tolerance = Math.floor(rows.length / 50)
  const times = timesOf(rows, name)
  // Rows without the time come before or after all others, or it orders nothing.
  const first = rows.findIndex((row) => row.has(name))
  const isDivided = rows.findLastIndex((row) => row.has(name)) - first >= times.length
  const outside = times.filter(
    (at) => at < (bounds.lower ?? at) || at > (bounds.upper ?? at),
  ).length
  const { rises, falls } = countSteps(times)
  if (
    times.length === 0 ||
    isDivided ||
    outside > tolerance ||
    (falls > tolerance && rises > tolerance)
  )
    return undefined
  return { name, ascending: falls <= tolerance, descending: rises <= tolerance }
}

export function timesOf(rows: readonly RowTimes[], field: string): EpochSeconds[] {
  return rows.flatMap((row) => row.get(field) ?? [])
}

/** Every time of the row by which the list may be sorted; all of them if its order is not known. */
export function sortTimesOf(row: RowTimes, order: SortOrder | null): EpochSeconds[] {
  return order === null ? [...row.values()] : order.fields.flatMap((field) => row.get(field) ?? [])
}

export function countSteps(times: readonly EpochSeconds[]) {
  let rises = 0
  let falls = 0
  let before = times[0]
  for (const at of times) {
    if (before !== undefined && at > before) rises++
    if (before !== undefined && at < before) falls++
    before = at
  }
  return { rises, falls }
}

/** The direction of some field that no other one contradicts. */
function commonDirection(
  fields: readonly { readonly ascending: boolean; readonly descending: boolean }[],
): SortOrder['direction'] {
  const isAscending = fields.some((field) => field.ascending && !field.descending)
  const isDescending = fields.some((field) => field.descending && !field.ascending)
  return isAscending === isDescending ? null : isAscending ? 'ascending' : 'descending'
}

/** Up to this time a page in this direction misses no row, whichever candidate orders the list. */
export function completeTo(way: ScanDirection, { fields }: SortOrder, rows: readonly RowTimes[]) {
  const [nearest, farthest] = way === 'forward' ? [minOf, maxOf] : [maxOf, minOf]
  return nearest(
    fields.map((field) => fieldExtreme(field, rows, farthest)).filter((edge) => edge !== undefined),
  )
}

/** In a page that is not quite in order, the most extreme times may be of stale or moved rows. */
function fieldExtreme(
  field: string,
  rows: readonly RowTimes[],
  pick: typeof minOf,
): EpochSeconds | undefined {
  const times = timesOf(rows, field)
  const { rises, falls } = countSteps(times)
  const outliers = rises === 0 || falls === 0 ? 0 : Math.floor(rows.length / 50)
  if (outliers === 0) return pick(times)
  return times.sort((a, b) => (pick === maxOf ? b - a : a - b))[outliers]
}

/** Not `Math.min(...values)`: spreading a hundred thousand values overflows the stack. */
export function minOf(values: Iterable<number>): number | undefined {
  let found: number | undefined
  for (const value of values) if (found === undefined || value < found) found = value
  return found
}

export function maxOf(values: Iterable<number>): number | undefined {
  let found: number | undefined
  for (const value of values) if (found === undefined || value > found) found = value
  return found
}

/** A time that this share of the rows shows belongs to all of them. */
const minShare = 0.9

/** `isUnreadable`: the row has a value in that field that is not a time. */
export function fillMissingTimes(
  times: readonly RowTimes[],
  isUnreadable: (row: number, field: string) => boolean,
) {
  if (times.every(({ size }) => size === times[0]?.size && size > 0)) return times
  const shown = new Map<string, number>()
  for (const row of times)
    for (const field of row.keys()) shown.set(field, (shown.get(field) ?? 0) + 1)
  const common = [...shown].filter(
    ([, rows]) => rows < times.length && rows >= times.length * minShare,
  )
  const filled = times.map((row) => new Map(row))
  for (const [field] of common) {
    for (const [i, row] of times.entries()) {
      if (row.has(field) || (row.size > 0 && !isUnreadable(i, field))) continue
      filled[i]?.set(field, nearestTime(times, i, field))
    }
  }
  return filled
}

function nearestTime(times: readonly RowTimes[], i: number, field: string): EpochSeconds {
  for (let step = 1; step <= times.length; step++) {
    const at = times[i - step]?.get(field) ?? times[i + step]?.get(field)
    if (at !== undefined) return at
  }
  return 0
}
