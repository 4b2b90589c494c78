/**
 * What the pages leave open about where a walk began, and the question that settles it: the one that the first page
 * answered, for a single row. No clock is asked: that of the answers need not agree with that of the rows.
 */
import { inferPageEnd } from './page-end.ts'
import { findNewRows, type ScanPage } from './page-evidence.ts'
import { hasAdvanced } from './page-join.ts'
import type { ScanState } from './scan-state.ts'
import { inferOrder, type TimeBounds } from './sort-order.ts'

/** What to ask once more before `page` is taken for what it seems; null: it is clear enough. */
export function startCheckFor(scan: ScanState, bounds: TimeBounds, page: ScanPage): TimeBounds | null {
  const { rangeScan: leg, profile: known } = scan
  if (leg === null || !hasAdvanced(scan) || leg.isProven || leg.isStartChecked || !leg.hasClaimedMore) return null
  const { order } = inferOrder(known.order, page.times, bounds)
  const newRows = findNewRows(scan.recentPageIds, leg.firstPage.page, page, order)
  // Where nothing new came, the end tells something of a bound that surely works, and nothing of a habit.
  const nothingNew =
    newRows.newIds.length === 0 && (leg.isFirstPageShort || known.support[leg.direction] !== 'honoured')
  return nothingNew || newRows.hasOlder ? null : leg.originPage.bounds
}

/** The walk before `page`, with the answer to the doubt about it; null = there was none. */
export function applyStartCheck(
  scan: ScanState,
  bounds: TimeBounds,
  page: ScanPage,
  again: ScanPage | null,
): ScanState {
  const { rangeScan: leg, profile: known, recentPageIds: recent } = scan
  if (leg === null) return scan
  const order = inferOrder(known.order, page.times, bounds).order ?? known.order
  const later = findNewRows(recent, null, page, order).newIds
  return {
    ...scan,
    rangeScan: {
      ...leg,
      isStartChecked: true,
      originEnd: again && inferPageEnd(leg.originPage.page, order, again, later),
    },
  }
}
