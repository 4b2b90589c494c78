/**
 * The start check: repeats the first page's request for a single row if the pages do not show from which end the scan
 * began. It relies on no clock, because the clock of the answers may differ from that of the rows.
 */
import { inferPageEnd } from './page-end.ts'
import { findNewRows, type ScanPage } from './page-evidence.ts'
import { hasAdvanced } from './page-join.ts'
import type { ScanState } from './scan-state.ts'
import { inferOrder, type TimeBounds } from './sort-order.ts'

/** The bounds of the start check that `page` requires; null: none. */
export function startCheckFor(scan: ScanState, bounds: TimeBounds, page: ScanPage): TimeBounds | null {
  const { rangeScan, profile } = scan
  if (
    rangeScan === null ||
    !hasAdvanced(scan) ||
    rangeScan.isProven ||
    rangeScan.isStartChecked ||
    !rangeScan.hasClaimedMore
  )
    return null
  const { order } = inferOrder(profile.order, page.times, bounds)
  const newRows = findNewRows(scan.recentPageIds, rangeScan.firstPage.page, page, order)
  // Without new rows, the start only matters if the bound certainly works and the first page was not short.
  const hasNothingNew =
    newRows.newIds.length === 0 && (rangeScan.isFirstPageShort || profile.support[rangeScan.direction] !== 'honoured')
  return hasNothingNew || newRows.hasOlder ? null : rangeScan.originPage.bounds
}

/** The state before `page` with the result of the start check. `again`: its answer; null = it failed. */
export function applyStartCheck(
  scan: ScanState,
  bounds: TimeBounds,
  page: ScanPage,
  again: ScanPage | null,
): ScanState {
  const { rangeScan, profile, recentPageIds } = scan
  if (rangeScan === null) return scan
  const order = inferOrder(profile.order, page.times, bounds).order ?? profile.order
  const later = findNewRows(recentPageIds, null, page, order).newIds
  return {
    ...scan,
    rangeScan: {
      ...rangeScan,
      isStartChecked: true,
      originEnd: again && inferPageEnd(rangeScan.originPage.page, order, again, later),
    },
  }
}
