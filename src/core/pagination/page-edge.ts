/**
 * The edge that a scan reaches with a page: the rest of the range beyond it, and whether the next page overlaps this one.
 * It must repeat a row, because requests overlap by a second.
 */
import type { EpochSeconds } from '../time.ts'
import { rowFingerprints, type ScanPage } from './page-evidence.ts'
import type { ScanDirection } from './paging-profile.ts'
import type { TimeRange } from './pending-ranges.ts'
import { hasAdvanced, type Paging } from './scan-state.ts'
import { completeDownTo, completeUpTo, dropUnmovedFields, type RowTimes, type SortOrder } from './sort-order.ts'

type Times = readonly RowTimes[]

/** The rest of the range in this direction, and the order by which it is safe; null if the page's edge did not advance. */
export function remainingAfterPage(way: ScanDirection, range: TimeRange, assumed: SortOrder, times: Times) {
  const isForward = way === 'forward'
  const hasMoved = (at: EpochSeconds) => (isForward ? at > range.lo : range.hi === null || at < range.hi)
  const edgeOf = (order: SortOrder) => (isForward ? completeUpTo(order, times) : completeDownTo(order, times))
  const safestEdge = edgeOf(assumed)
  const isMoved = safestEdge !== undefined && hasMoved(safestEdge)
  const order = isMoved ? assumed : dropUnmovedFields(assumed, times, hasMoved)
  const edge = edgeOf(order)
  if (edge === undefined || !hasMoved(edge)) return null
  return { order, range: isForward ? { lo: edge, hi: range.hi } : { lo: range.lo, hi: edge } }
}

/** The range with half of the page included again. */
export function fallbackRangeOf(way: ScanDirection, { lo, hi }: TimeRange, { fields }: SortOrder, times: Times) {
  const middles = fields.flatMap((field) => {
    const sorted = times.flatMap((row) => row.get(field) ?? []).sort((a, b) => a - b)
    return sorted[sorted.length >> 1] ?? []
  })
  if (way === 'forward') return { lo: Math.min(lo, ...middles), hi }
  return { lo, hi: hi === null ? null : Math.max(hi, ...middles) }
}

/** The second at the edge of the remaining range. */
export function edgeSecond(direction: ScanDirection, range: TimeRange): EpochSeconds {
  return direction === 'forward' ? range.lo : (range.hi ?? range.lo)
}

/** The range without the second at its edge. */
export function rangeBeyondEdge(direction: ScanDirection, range: TimeRange): TimeRange {
  const second = edgeSecond(direction, range)
  return direction === 'forward' ? { lo: second + 1, hi: range.hi } : { lo: range.lo, hi: second - 1 }
}

/** All times that every row shows, if none orders the rows: the edge is then safe under each of them. */
export function conservativeOrder(times: Times): SortOrder | null {
  const fields = [...(times[0]?.keys() ?? [])].filter((field) => times.every((row) => row.has(field)))
  return fields.length === 0 ? null : { fields, direction: null }
}

/** The page repeats no row of the previous one despite the overlap, so rows between them may be missing. */
export function isDiscontiguous(phase: Paging, page: ScanPage, order: SortOrder | null): boolean {
  if (order === null || !hasAdvanced(phase)) return false
  return ![...rowFingerprints(page)].some((row) => phase.recent.lastRows.has(row))
}

/**
 * Repeats the request with half a page of overlap: the row at the edge has moved, or the edge is not the sort time. Null:
 * this was already tried here. `after`: the phase after the page that does not overlap.
 */
export function fallBack({ range, rangeScan, recent, fallbackRange }: Paging, after: Paging): Paging | null {
  const { direction, lastFallbackAt } = rangeScan
  const second = edgeSecond(direction, range)
  const last = lastFallbackAt ?? (direction === 'forward' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY)
  const isBeyond = direction === 'forward' ? second > last : second < last
  if (fallbackRange === null || !isBeyond) return null
  const { lastRows } = recent
  const fallenBack = { ...rangeScan, lastFallbackAt: second }
  return { ...after, range: fallbackRange, rangeScan: fallenBack, recent: { ...after.recent, lastRows } }
}
