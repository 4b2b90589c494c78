/** From which end of a list a page was taken: seen when its question is asked again, for a single row. */

import { maxOf, minOf } from './min-max.ts'
import type { ScanPage } from './page-evidence.ts'
import type { ScanDirection } from './paging-profile.ts'
import type { RowTimes, SortDirection, SortOrder } from './sort-order.ts'

/**
 * `up`: from the old end, so that what follows is newer. `later`: rows that were seen after the page; taken from the new
 * end, it would show them now. Null: the answer does not tell.
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
  // A service that does not hear `limit` shows the page again.
  if (again.ids.length > 1) return index !== -1 && later.length > 0 ? 'up' : null
  const fields = order?.fields ?? []
  const isUnmoved = fields.every((field) => page.times[index]?.get(field) === again.times[0]?.get(field))
  // One row that has just come, or moved, to the new end: nobody would show it as the oldest.
  if (!isUnmoved) return again.times.some(isNewestOf(page, fields)) ? 'down' : null
  const sortDirection = pageDirection(page, fields)
  // Rows vanish while we ask: near an end is enough.
  const isNearStart = index < page.ids.length / 2
  return sortDirection === null || index === -1 ? null : isNearStart === (sortDirection === 'ascending') ? 'up' : 'down'
}

/** Whether a row is as new as the newest of a page, by some time by which the page's rows differ. */
function isNewestOf({ times }: ScanPage, fields: readonly string[]): (row: RowTimes) => boolean {
  const spans = fields.map((field) => [field, times.map((row) => row.get(field) ?? 0)] as const)
  const ends = spans.map(([field, all]) => [field, minOf(all) ?? 0, maxOf(all) ?? 0] as const)
  return (row) => ends.some(([field, first, last]) => first < last && (row.get(field) ?? first) >= last)
}

/**
 * How a page itself runs, if no two candidates for the order contradict each other: a belief from other pages may be wrong.
 * By its steps, as a few rows may be out of order by much.
 */
function pageDirection({ times }: ScanPage, fields: readonly string[]): SortDirection | null {
  const directions = fields.map((field) => {
    const steps = times.slice(1).map((row, i) => Math.sign((row.get(field) ?? 0) - (times[i]?.get(field) ?? 0)))
    return Math.sign(steps.reduce<number>((sum, step) => sum + step, 0))
  })
  const [up, down] = [directions.includes(1), directions.includes(-1)]
  return up === down ? null : up ? 'ascending' : 'descending'
}
