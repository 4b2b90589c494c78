/** What a single page proves: whether it is cut, how the service lists, what is left of a range. */

import { clockToleranceSeconds, type EpochSeconds } from '../../../values/time.ts'
import type { TimeRange } from './list-cursor.ts'
import type { ScanPage } from './page-protocol.ts'
import { type Bound, type ListEndpoint, type PagingProfile, pageSizesOf } from './paging-profile.ts'
import {
  completeTo,
  type RowTimes,
  type ScanDirection,
  type SortOrder,
  sortTimesOf,
  type TimeBounds,
  timesOf,
} from './sort-order.ts'

type KnownList = {
  readonly list: ListEndpoint
  readonly profile: PagingProfile
  readonly smallerPage?: { readonly rows: number } | null
  /** A request beyond its rows showed more. */
  readonly cutPage?: ScanPage | null
}

export function fullSizes({ list, smallerPage }: KnownList) {
  const { most, usual } = pageSizesOf(list)
  return { most, usual: Math.min(usual, smallerPage?.rows ?? usual) }
}

/** More rows may match than the page shows. */
export function isCut(reading: KnownList, page: ScanPage): boolean {
  const { profile } = reading
  const { most, usual } = fullSizes(reading)
  const size = page.ids.length
  if (size === 0) return false
  if (page.hasMore && profile.isHasMoreReliableIfShort !== false) return true
  if (size === profile.listedAtMost || reading.cutPage?.ids.join() === page.ids.join()) return true
  if (page.hasMore) return size >= usual
  // A service may never set `hasMore`. More rows than `most` are no page.
  return !profile.setsHasMore && size >= usual && size <= most
}

/** Most rows are outside the bounds: the service ignores a bound. */
export function isBoundIgnored(
  page: ScanPage,
  bounds: TimeBounds,
  order: SortOrder | null,
): boolean {
  return page.times.filter((row) => isOutside(row, bounds, order)).length > page.times.length / 2
}

/** By every time that may be the sort field. */
export function isOutside(
  row: RowTimes,
  { lower, upper }: TimeBounds,
  order: SortOrder | null,
): boolean {
  const all = sortTimesOf(row, order)
  return (
    all.length > 0 &&
    (all.every((at) => at < (lower ?? at)) || all.every((at) => at > (upper ?? at)))
  )
}

export function showsNewRows({ ids }: ScanPage, before: ScanPage): boolean {
  const known = new Set(before.ids)
  return ids.some((id) => !known.has(id))
}

/** The page repeats a row of the one that ended where it has to begin, as requests overlap. */
export function repeatsRow(page: ScanPage, before: ScanPage): boolean {
  const shown = rowFingerprints(before)
  return [...rowFingerprints(page)].some((row) => shown.has(row))
}

/** Rows with their times: a row whose times have changed does not count as repeated. */
function rowFingerprints({ ids, times }: ScanPage): ReadonlySet<string> {
  return new Set(ids.map((id, i) => `${id} ${[...(times[i] ?? [])].join()}`))
}

export function learnFromPage(
  { list, profile }: KnownList,
  order: SortOrder | null,
  page: ScanPage,
  bounds: TimeBounds,
) {
  const { support, listedAtMost, inclusiveBounds } = profile
  const [field, ...others] = order?.fields ?? []
  const isInclusive = (bound: Bound) => {
    const at = bounds[bound]
    // Bounds may compare hidden fractions and show a part of their second: `false` is final.
    if (
      at === undefined ||
      field === undefined ||
      others.length > 0 ||
      inclusiveBounds[bound] === false
    )
      return inclusiveBounds[bound]
    return page.times.some((row) => row.get(field) === at) || inclusiveBounds[bound]
  }
  const size = page.ids.length
  const limit =
    support.limit === 'unknown' && size > pageSizesOf(list).usual ? 'honoured' : support.limit
  return {
    ...profile,
    order,
    hasMixedOrder: profile.hasMixedOrder || isOrderReversed(profile.order, order),
    inclusiveBounds: { lower: isInclusive('lower'), upper: isInclusive('upper') },
    isHasMoreReliableIfShort: size > 0 && !page.hasMore ? true : profile.isHasMoreReliableIfShort,
    setsHasMore: profile.setsHasMore || page.hasMore,
    setsHasMoreIfFull:
      profile.setsHasMoreIfFull || (page.hasMore && size === pageSizesOf(list).most),
    support: { ...support, limit },
    listedAtMost: listedAtMost !== null && size > listedAtMost ? 0 : listedAtMost,
  }
}

/** Pages may run one side with a bound and the other side without. */
function isOrderReversed(before: SortOrder | null, now: SortOrder | null): boolean {
  if (before?.direction == null || now?.direction == null || before.direction === now.direction)
    return false
  return now.fields.every((field) => before.fields.includes(field))
}

/** By every time that may be the sort field; by all of their times if no order is known yet. */
export function findFutureDated(
  order: SortOrder | null,
  { ids, times, cursorLimit }: ScanPage,
): readonly string[] {
  return ids.filter((_, i) => {
    const shown = sortTimesOf(times[i] ?? new Map(), order)
    return shown.length > 0 && shown.every((at) => at > cursorLimit + clockToleranceSeconds)
  })
}

/**
 * The rest of the range behind a page that was read in this direction; null if its edge did not
 * advance. `rest` null: nothing is left. A candidate that stays behind another one may still order
 * the list, if more rows share its second than a page holds.
 */
export function restAfterPage(
  way: ScanDirection,
  range: TimeRange,
  order: SortOrder,
  times: readonly RowTimes[],
) {
  const isForward = way === 'forward'
  const edge = completeTo(way, order, times)
  if (edge === undefined) return null
  const hasMoved = isForward
    ? edge > range.lo || (edge === range.lo && !range.seenLo)
    : range.hi === null || edge < range.hi || (edge === range.hi && !range.seenHi)
  if (!hasMoved) return null
  const rest: TimeRange = isForward
    ? { ...range, lo: edge, seenLo: true }
    : { ...range, hi: edge, seenHi: true }
  return { rest: rest.hi !== null && rest.hi < rest.lo ? null : rest }
}

/** The second at the edge of the remaining range. */
export function edgeSecond(way: ScanDirection, { lo, hi }: TimeRange): EpochSeconds {
  return way === 'forward' ? lo : (hi ?? lo)
}

/** Null = nothing is left. */
export function rangeBeyondEdge(way: ScanDirection, range: TimeRange): TimeRange | null {
  const second = edgeSecond(way, range)
  const { lo, hi, seenLo, seenHi } = range
  const rest: TimeRange =
    way === 'forward'
      ? { lo: second + 1, hi, ...(seenHi ? { seenHi } : {}) }
      : { lo, hi: second - 1, ...(seenLo ? { seenLo } : {}) }
  return rest.hi !== null && rest.hi < rest.lo ? null : rest
}

/** The time in the middle of a page, by the field that is safest in this direction. */
export function middleSecond(
  way: ScanDirection,
  { fields }: SortOrder,
  times: readonly RowTimes[],
): EpochSeconds | undefined {
  const middles = fields.flatMap((field) => {
    const sorted = timesOf(times, field).sort((a, b) => a - b)
    return sorted[sorted.length >> 1] ?? []
  })
  return middles.length === 0
    ? undefined
    : way === 'forward'
      ? Math.min(...middles)
      : Math.max(...middles)
}

/** All times that every row shows: the edge is then safe under each of them. */
export function conservativeOrder(times: readonly RowTimes[]): SortOrder | null {
  const fields = [...(times[0]?.keys() ?? [])].filter((field) =>
    times.every((row) => row.has(field)),
  )
  return fields.length === 0 ? null : { fields, direction: null }
}
