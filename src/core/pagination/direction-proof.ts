/** Whether the pages of a range prove that their direction leads to the rows that `hasMore` of the first page claims. */
import { isFullPage, isShortPage, type NewRows, type PageQuery } from './page-evidence.ts'
import { boundOf, oppositeOf, type PagingProfile, startOf } from './paging-profile.ts'
import { hasAdvanced, type RangePhase, type RangeScan } from './scan-state.ts'
import type { RowTimes } from './sort-order.ts'

/** Older rows existed before the scan; newer ones may have been added since, unless the pages begin with the oldest. */
export function provesDirection(scan: RangeScan, profile: PagingProfile, query: PageQuery, newRows: NewRows): boolean {
  const isFromOldEnd = scan.direction === 'forward' && scan.originEnd === 'oldest'
  if (newRows.hasOlder || (isFromOldEnd && newRows.newIds.length > 0)) return true
  return !isFullPage(profile, query.page) && provesLowerBound(scan, query)
}

/** The lower bound works: it removed rows that the first page showed without a bound. */
function provesLowerBound({ direction, firstPage, wholeRange }: RangeScan, { page, bounds }: PageQuery): boolean {
  const { lower } = bounds
  if (direction !== 'forward' || lower === undefined || firstPage.bounds.lower !== undefined) return false
  if (lower > wholeRange.lo) return false
  const isBefore = (row: RowTimes) => row.size > 0 && [...row.values()].every((at) => at < lower)
  return firstPage.page.times.some(isBefore) && !page.times.some(isBefore)
}

/** A direction that begins with the whole range has its own first page as its origin, which is not checked yet. */
export function withOrigin(phase: RangePhase, query: PageQuery): RangeScan {
  return hasAdvanced(phase) ? phase.rangeScan : { ...phase.rangeScan, originPage: query, originEnd: 'unchecked' }
}

/** `isProven`: by the page. `profile`: after the page. */
export function updateRangeScan(rangeScan: RangeScan, profile: PagingProfile, isProven: boolean): RangeScan {
  const { direction, originEnd, wholeRange, firstPage } = rangeScan
  const isMeaningless = profile.isHasMoreReliableIfShort === false && isShortPage(firstPage.page)
  const isOriginProof = originEnd === startOf[direction] && profile.support[boundOf(direction)] === 'honoured'
  const isWrongEnd = originEnd === startOf[oppositeOf(direction)]
  return {
    ...rangeScan,
    hasUnprovenMore: rangeScan.hasUnprovenMore && !isMeaningless && !isProven && !isOriginProof,
    unverifiedRange: rangeScan.unverifiedRange ?? (isWrongEnd ? wholeRange : null),
  }
}
