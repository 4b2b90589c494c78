/** Whether a page joins the previous one: because requests overlap by a second, it must repeat one of its rows. */
import { edgeSecond } from './page-edge.ts'
import type { ScanPage } from './page-evidence.ts'
import { gapReasons, type RangeStep, type ScanState } from './scan-state.ts'
import type { SortOrder } from './sort-order.ts'

/** Earlier pages have covered a part of the range, so the next page has to join them. */
export function hasAdvanced({ currentRange, rangeScan }: ScanState): boolean {
  if (currentRange === null || rangeScan === null) return false
  return rangeScan.direction === 'up' ? currentRange.lo > rangeScan.range.lo : currentRange.hi !== rangeScan.range.hi
}

/** The page repeats no row of the previous one despite the overlap, so rows between them may be missing. */
export function isUnjoined(scan: ScanState, page: ScanPage, order: SortOrder | null): boolean {
  if (scan.hasExactBound || order === null || !hasAdvanced(scan)) return false
  return ![...rowVersions(page)].some((version) => scan.lastPageRows.has(version))
}

/** Rows with their times: a row whose times have changed does not join two pages. */
export function rowVersions({ ids, times }: ScanPage): ReadonlySet<string> {
  return new Set(ids.map((id, i) => `${id} ${[...(times[i] ?? [])].join()}`))
}

/** Repeats the request with half a page of overlap: the row at the edge has moved, or the edge is not the sort time. */
export function fallBack(
  { rangeScan, lastPageRows, currentRange, fallbackRange }: ScanState,
  nextScan: ScanState,
): RangeStep {
  const lastFallbackAt =
    rangeScan === null || currentRange === null ? null : edgeSecond(rangeScan.direction, currentRange)
  return {
    state: { ...nextScan, currentRange: fallbackRange, rangeScan, lastPageRows, lastFallbackAt },
    timestampCollisions: [],
    missingRanges: [],
  }
}

export function canFallBack({ rangeScan, currentRange, fallbackRange, lastFallbackAt }: ScanState): boolean {
  if (rangeScan === null || currentRange === null || fallbackRange === null) return false
  const second = edgeSecond(rangeScan.direction, currentRange)
  return lastFallbackAt === null || (rangeScan.direction === 'up' ? second > lastFallbackAt : second < lastFallbackAt)
}

export function reportUnjoined(
  { currentRange, fallbackRange }: ScanState,
  isUnjoinedPage: boolean,
  step: RangeStep,
): RangeStep {
  const range = fallbackRange ?? currentRange
  return isUnjoinedPage && range !== null
    ? { ...step, missingRanges: [{ range, reason: gapReasons.unjoined }, ...step.missingRanges] }
    : step
}
