/**
 * The start check: repeats the first page's request for a single row if the pages do not show from which end the scan
 * began. It relies on no clock, because the clock of the responses may differ from that of the rows.
 */
import { findNewRows, isShortPage, type PageQuery, type ScanPage } from './page-evidence.ts'
import { boundOf } from './paging-profile.ts'
import { type ActiveScan, hasAdvanced } from './scan-state.ts'
import type { RowTimes, SortDirection, SortOrder, TimeBounds } from './sort-order.ts'
import { inferOrder, maxOf, minOf } from './sort-order.ts'

/** The bounds of the start check that a page requires; null: none. */
export function startCheckFor({ profile, phase }: ActiveScan, { page, bounds }: PageQuery): TimeBounds | null {
  if (phase.name === 'opening' || !hasAdvanced(phase)) return null
  const { direction, firstPage, originPage, originEnd, hasUnprovenMore } = phase.rangeScan
  if (!hasUnprovenMore || originEnd !== 'unchecked') return null
  const { order } = inferOrder(profile.order, page.times, bounds)
  const newRows = findNewRows(phase.recent.ids, firstPage.page, page, order)
  // Without new rows, the start only matters if the bound certainly works and the first page was not short.
  const isBoundProven = profile.support[boundOf(direction)] === 'honoured' && !isShortPage(firstPage.page)
  return newRows.hasOlder || (newRows.newIds.length === 0 && !isBoundProven) ? null : originPage.bounds
}

/** The state before a page with the result of the start check. `again`: its response; null = it failed. */
export function applyStartCheck(scan: ActiveScan, { page, bounds }: PageQuery, again: ScanPage | null): ActiveScan {
  const { profile, phase } = scan
  if (phase.name === 'opening') return scan
  const { rangeScan, recent } = phase
  const order = inferOrder(profile.order, page.times, bounds).order ?? profile.order
  const later = findNewRows(recent.ids, null, page, order).newIds
  const originEnd = again === null ? 'unknown' : inferPageEnd(rangeScan.originPage.page, order, again, later)
  return { ...scan, phase: { ...phase, rangeScan: { ...rangeScan, originEnd } } }
}

/**
 * The end of the list from which a page came. `later`: rows that were seen after it; a repeated page from the new end would
 * show them.
 */
function inferPageEnd(page: ScanPage, order: SortOrder | null, again: ScanPage, later: readonly string[]) {
  const shown = new Set(again.ids)
  if (later.some((id) => shown.has(id))) return 'newest'
  const index = page.ids.findIndex((id) => shown.has(id))
  // A service that ignores `limit` shows the whole page again.
  if (again.ids.length > 1) return index !== -1 && later.length > 0 ? 'oldest' : 'unknown'
  const fields = order?.fields ?? []
  const isUnmoved = fields.every((field) => page.times[index]?.get(field) === again.times[0]?.get(field))
  // A row that has just been added or moved is at the new end, so it cannot be shown as the oldest.
  if (!isUnmoved) return again.times.some(isNewestOf(page, fields)) ? 'newest' : 'unknown'
  const sortDirection = pageDirection(page, fields)
  // Rows may vanish between the requests, so a position near an end is enough.
  const isNearStart = index < page.ids.length / 2
  if (sortDirection === null || index === -1) return 'unknown'
  return isNearStart === (sortDirection === 'ascending') ? 'oldest' : 'newest'
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
  const [rises, falls] = [directions.includes(1), directions.includes(-1)]
  return rises === falls ? null : rises ? 'ascending' : 'descending'
}
