/** Where a walk stands on the time line after a page, and what remains of its range from there. */

import type { Seconds } from '../time.ts'
import type { ScanDirection } from './paging-profile.ts'
import type { TimeRange } from './pending-ranges.ts'
import { completeDownTo, completeUpTo, dropUnmovedFields, type RowTimes, type SortOrder } from './sort-order.ts'

/** What remains of a range on one side of a page; null if the page's edge did not move. */
export function remainingAfterPage(
  direction: ScanDirection,
  range: TimeRange,
  believed: SortOrder,
  times: readonly RowTimes[],
): { range: TimeRange; order: SortOrder } | null {
  const moved = (at: Seconds) => (direction === 'up' ? at > range.lo : range.hi === null || at < range.hi)
  const at = (order: SortOrder) => (direction === 'up' ? completeUpTo(order, times) : completeDownTo(order, times))
  const all = at(believed)
  const order = all !== undefined && moved(all) ? believed : dropUnmovedFields(believed, times, moved)
  const edge = at(order)
  if (edge === undefined || !moved(edge)) return null
  return { order, range: direction === 'up' ? { lo: edge, hi: range.hi } : { lo: range.lo, hi: edge } }
}

/** The same range with half of the page in it again. */
export function fallbackRangeOf(
  direction: ScanDirection,
  range: TimeRange,
  { fields }: SortOrder,
  times: readonly RowTimes[],
): TimeRange {
  const middles = fields.flatMap((field) => {
    const sorted = times.flatMap((row) => row.get(field) ?? []).sort((a, b) => a - b)
    return sorted[sorted.length >> 1] ?? []
  })
  if (direction === 'up') return { lo: Math.min(range.lo, ...middles), hi: range.hi }
  return { lo: range.lo, hi: range.hi === null ? null : Math.max(range.hi, ...middles) }
}

/** The second where the walk stands. */
export function edgeSecond(direction: ScanDirection, range: TimeRange): Seconds {
  return direction === 'up' ? range.lo : (range.hi ?? range.lo)
}

/** The range without the second where the walk stands. */
export function rangeBeyondEdge(direction: ScanDirection, range: TimeRange): TimeRange {
  const second = edgeSecond(direction, range)
  return direction === 'up' ? { lo: second + 1, hi: range.hi } : { lo: range.lo, hi: second - 1 }
}

/** Every time that all rows show, where none orders them: the most careful cursor there is. */
export function conservativeOrder(times: readonly RowTimes[]): SortOrder | null {
  const fields = [...(times[0]?.keys() ?? [])].filter((field) => times.every((row) => row.has(field)))
  return fields.length === 0 ? null : { fields, direction: null }
}
