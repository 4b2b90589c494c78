/** What is left of a range after a cut page, and whether the page joins what was read before. */
import type { EpochSeconds } from '../../../values/time.ts'
import { rowFingerprints, type ScanPage } from './page-evidence.ts'
import type { ScanDirection } from './paging-profile.ts'
import type { TimeRange } from './pending-ranges.ts'
import { completeDownTo, completeUpTo, dropUnmovedFields, type RowTimes, type SortOrder } from './sort-order.ts'

type Times = readonly RowTimes[]

/**
 * The rest of the range behind a page that was read in this direction, and the order by which it is safe; null if the edge
 * of the page did not advance. `rest` null: nothing is left. `isAtEdge`: the page was requested from the edge of the range,
 * so a time that stays behind it does not order the list; a page from elsewhere says nothing about that.
 */
export function restAfterPage(
  way: ScanDirection,
  range: TimeRange,
  assumed: SortOrder,
  times: Times,
  { isAtEdge }: { readonly isAtEdge: boolean },
) {
  const isForward = way === 'forward'
  const hasMoved = (at: EpochSeconds) =>
    isForward
      ? at > range.lo || (at === range.lo && !range.seenLo)
      : range.hi === null || at < range.hi || (at === range.hi && !range.seenHi)
  const edgeOf = (order: SortOrder) => (isForward ? completeUpTo(order, times) : completeDownTo(order, times))
  const safestEdge = edgeOf(assumed)
  const isMoved = safestEdge !== undefined && hasMoved(safestEdge)
  const order = isMoved || !isAtEdge ? assumed : dropUnmovedFields(assumed, times, hasMoved)
  const edge = edgeOf(order)
  if (edge === undefined || !hasMoved(edge)) return null
  const rest: TimeRange = isForward ? { ...range, lo: edge, seenLo: true } : { ...range, hi: edge, seenHi: true }
  return { order, rest: rest.hi !== null && rest.hi < rest.lo ? null : rest }
}

/** The second at the edge of the remaining range. */
export function edgeSecond(way: ScanDirection, { lo, hi }: TimeRange): EpochSeconds {
  return way === 'forward' ? lo : (hi ?? lo)
}

/** The range without the second at its edge; null = nothing is left. */
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
export function middleSecond(way: ScanDirection, { fields }: SortOrder, times: Times): EpochSeconds | undefined {
  const middles = fields.flatMap((field) => {
    const sorted = times.flatMap((row) => row.get(field) ?? []).sort((a, b) => a - b)
    return sorted[sorted.length >> 1] ?? []
  })
  return middles.length === 0 ? undefined : way === 'forward' ? Math.min(...middles) : Math.max(...middles)
}

/** All times that every row shows, if none orders the rows: the edge is then safe under each of them. */
export function conservativeOrder(times: Times): SortOrder | null {
  const fields = [...(times[0]?.keys() ?? [])].filter((field) => times.every((row) => row.has(field)))
  return fields.length === 0 ? null : { fields, direction: null }
}

/**
 * The page begins at or before the edge from which it was requested. `before`: the page that ended at this edge, of which it
 * has to repeat a row, because requests overlap; null if an earlier run read it, then the times have to show it. If it is
 * not known from which end pages are taken, only an earlier second does: the edge itself may have more rows than it shows.
 */
export function joinsEdge(
  way: ScanDirection,
  range: TimeRange,
  page: ScanPage,
  order: SortOrder,
  { before, isEndKnown }: { readonly before: ScanPage | null; readonly isEndKnown: boolean },
): boolean {
  if (before !== null) {
    const shown = rowFingerprints(before)
    return [...rowFingerprints(page)].some((row) => shown.has(row))
  }
  const edge = edgeSecond(way, range)
  const isBeyond = (at: EpochSeconds) => (way === 'forward' ? at < edge : at > edge) || (at === edge && isEndKnown)
  // By each time that may order the list: another one may lie beyond the edge in any row.
  return order.fields.every((field) => page.times.some((row) => isBeyond(row.get(field) ?? Number.NaN)))
}
