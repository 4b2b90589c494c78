/** Whether a page joins the one before it: asked with a second of overlap, it has to show some row of it again. */
import { edgeSecond } from './page-edge.ts'
import type { ScanPage } from './page-evidence.ts'
import { gapReasons, type RangeStep, type ScanState } from './scan-state.ts'
import type { SortOrder } from './sort-order.ts'

/** Whether the pages before have left some of the range behind, so that the next one has to join them. */
export function hasAdvanced({ currentRange: now, rangeScan: leg }: ScanState): boolean {
  if (now === null || leg === null) return false
  return leg.direction === 'up' ? now.lo > leg.range.lo : now.hi !== leg.range.hi
}

/** Whether a page, asked with a second of overlap, shows nothing of the page before: it may begin anywhere. */
export function isUnjoined(scan: ScanState, page: ScanPage, order: SortOrder | null): boolean {
  if (scan.hasExactBound || order === null || !hasAdvanced(scan)) return false
  return ![...rowPlaces(page)].some((place) => scan.last.has(place))
}

/** A row that has moved stands elsewhere, and joins nothing. */
export function rowPlaces({ ids, times }: ScanPage): ReadonlySet<string> {
  return new Set(ids.map((id, i) => `${id} ${[...(times[i] ?? [])].join()}`))
}

/** The row at the edge has moved, or the edge was taken from a time that orders nothing: once more, with half a page of overlap. */
export function fallBack(
  { rangeScan: leg, last, currentRange: now, fallbackRange: back }: ScanState,
  nextScan: ScanState,
): RangeStep {
  const turned = leg === null || now === null ? null : edgeSecond(leg.direction, now)
  return {
    state: { ...nextScan, currentRange: back, rangeScan: leg, last, lastFallbackAt: turned },
    timestampCollisions: [],
    missingRanges: [],
  }
}

export function canFallBack({
  rangeScan: leg,
  currentRange: now,
  fallbackRange: back,
  lastFallbackAt: turned,
}: ScanState): boolean {
  if (leg === null || now === null || back === null) return false
  const second = edgeSecond(leg.direction, now)
  return turned === null || (leg.direction === 'up' ? second > turned : second < turned)
}

export function reportUnjoined(
  { currentRange: now, fallbackRange: back }: ScanState,
  isUnjoinedPage: boolean,
  step: RangeStep,
): RangeStep {
  const range = back ?? now
  return isUnjoinedPage && range !== null
    ? { ...step, missingRanges: [{ range, reason: gapReasons.unjoined }, ...step.missingRanges] }
    : step
}
