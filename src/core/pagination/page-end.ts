/** Infers from which end of a list a page was taken, by repeating its request for a single row. */

import type { ScanPage } from './page-evidence.ts'
import type { ScanDirection } from './paging-profile.ts'
import { maxOf, minOf, type RowTimes, type SortDirection, type SortOrder } from './sort-order.ts'

/**
 * `up`: from the old end, so newer rows follow. `later`: rows that were seen after the page; a repeated page from the new
 * end would show them. Null: unknown.
 */
export function inferPageEnd(
  page: ScanPage,
  order: SortOrder | null,
  again: ScanPage,
  later: readonly string[],
): ScanDirection | null {
  const shown = new Set(again.ids)
  if (later.some((id) => shown.has(id))) return 'down'
  const index = page.ids.findIndex((id) => shown.has(id))
  // A service that ignores `limit` shows the whole page again.
  if (again.ids.length > 1) return index !== -1 && later.length > 0 ? 'up' : null
  const fields = order?.fields ?? []
  const isUnmoved = fields.every((field) => page.times[index]?.get(field) === again.times[0]?.get(field))
  // A row that has just been added or moved is at the new end, so it cannot be shown as the oldest.
  if (!isUnmoved) return again.times.some(isNewestOf(page, fields)) ? 'down' : null
  const sortDirection = pageDirection(page, fields)
  // Rows may vanish between the requests, so a position near an end is enough.
  const isNearStart = index < page.ids.length / 2
  return sortDirection === null || index === -1 ? null : isNearStart === (sortDirection === 'ascending') ? 'up' : 'down'
}

/** A row is as new as the newest of a page by some time in which the page's rows differ. */
function isNewestOf({ times }: ScanPage, fields: readonly string[]): (row: RowTimes) => boolean {
  const spans = fields.map((field) => [field, times.map((row) => row.get(field) ?? 0)] as const)
  const ends = spans.map(([field, all]) => [field, minOf(all) ?? 0, maxOf(all) ?? 0] as const)
  return (row) => ends.some(([field, first, last]) => first < last && (row.get(field) ?? first) >= last)
}

/**
 * The sort direction of this page alone, because the direction of other pages may be wrong; null if the candidates
 * contradict each other. Counts single steps, because a few rows may be far out of order.
 */
function pageDirection({ times }: ScanPage, fields: readonly string[]): SortDirection | null {
  const directions = fields.map((field) => {
    const steps = times.slice(1).map((row, i) => Math.sign((row.get(field) ?? 0) - (times[i]?.get(field) ?? 0)))
    return Math.sign(steps.reduce<number>((sum, step) => sum + step, 0))
  })
  const [up, down] = [directions.includes(1), directions.includes(-1)]
  return up === down ? null : up ? 'ascending' : 'descending'
}
