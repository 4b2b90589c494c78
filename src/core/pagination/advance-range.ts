/** Moves on within a range after a full page: from its edge, or past a second that fills a page. */
import type { EpochSeconds } from '../time.ts'
import { continueWith, finishRange, giveUpRange } from './finish-range.ts'
import { conservativeOrder, edgeSecond, fallbackRangeOf, rangeBeyondEdge, remainingAfterPage } from './page-edge.ts'
import { isFullPage, isShortPage, type PageQuery, type ScanPage } from './page-evidence.ts'
import { boundOf, oppositeOf, type PagingProfile, type ScanDirection } from './paging-profile.ts'
import type { TimeRange } from './pending-ranges.ts'
import type { Opening, Paging, RangePhase, RangeScan, ScanContext, ScanStep } from './scan-state.ts'
import { recentPages, toStep } from './scan-state.ts'
import type { SortOrder } from './sort-order.ts'

/** After a page: the rest of the range if the page is full, else the opposite direction or the next range. */
export function continueRange(scan: ScanContext, phase: Opening | Paging, query: PageQuery): ScanStep {
  const { page } = query
  if (!isFullPage(scan.profile, page)) return finishRange(scan, phase, page)
  const order = scan.profile.order ?? conservativeOrder(page.times)
  if (order === null) return giveUpRange(scan, phase, page)
  return phase.name === 'opening' ? startRange(scan, phase, query, order) : advanceRange(scan, phase, query, order)
}

function advanceRange(scan: ScanContext, phase: Paging, query: PageQuery, order: SortOrder): ScanStep {
  const { page } = query
  const { direction } = phase.rangeScan
  const rest = remainingAfterPage(direction, phase.range, order, page.times)
  if (rest === null) return handleStuckEdge(scan, phase, query)
  // At the end of a list no time advances, which says nothing about the order.
  const isOrderLearned = scan.profile.order !== null && !isShortPage(page)
  const profile = isOrderLearned ? { ...scan.profile, order: rest.order } : scan.profile
  const fallbackRange = fallbackRangeOf(direction, rest.range, order, page.times)
  return continueWith({ ...scan, profile }, phase.range, { ...phase, range: rest.range, fallbackRange }, page)
}

/** The first full page of a range shows the direction of the pages. */
function startRange(scan: ScanContext, { range }: Opening, query: PageQuery, order: SortOrder): ScanStep {
  const { page, bounds } = query
  const restAfter = (way: ScanDirection) => remainingAfterPage(way, range, order, page.times)?.range ?? range
  // Newest rows first without a bound; with a lower bound the service may begin at the old end, so all rows remain.
  const isWholeRangeLeft = order.direction === 'descending' && bounds.lower === undefined
  const rests = { forward: isWholeRangeLeft ? range : restAfter('forward'), backward: restAfter('backward') }
  const rangeScan = firstRangeScan(scan, range, query, rests)
  const { direction } = rangeScan
  const rest = rests[direction]
  const started: Paging = {
    name: 'paging',
    range: rest,
    rangeScan,
    recent: recentPages(page, null),
    isStalled: false,
    fallbackRange: fallbackRangeOf(direction, rest, order, page.times),
  }
  if (!isUsable(scan.profile, direction)) return finishRange(scan, { ...started, range }, page)
  return continueWith(scan, range, started, page)
}

type Rests = Readonly<Record<ScanDirection, TimeRange>>

function firstRangeScan(scan: ScanContext, wholeRange: TimeRange, firstPage: PageQuery, rests: Rests): RangeScan {
  const { profile, list } = scan
  const { direction, support, order } = profile
  const isForwardUsable = isUsable(profile, 'forward') || !isUsable(profile, 'backward')
  const isForwardSuggested = order?.direction == null ? isForwardUsable : order.direction === 'ascending'
  const suggested: ScanDirection = isForwardSuggested ? 'forward' : 'backward'
  const chosen = direction ?? (isUsable(profile, suggested) ? suggested : oppositeOf(suggested))
  const alternative = oppositeOf(chosen)
  const isUndocumented = !list.isDocumented && (support.lower !== 'honoured' || support.upper !== 'honoured')
  return {
    direction: chosen,
    oppositeRange: direction === null && isUsable(profile, alternative) ? rests[alternative] : null,
    hasUnprovenMore: firstPage.page.hasMore && (direction === null || !isUsable(profile, direction)),
    firstPage,
    wholeRange,
    originPage: firstPage,
    originEnd: 'unchecked',
    unverifiedRange: isUndocumented || chosen !== suggested || !isUsable(profile, chosen) ? wholeRange : null,
    lastFallbackAt: null,
  }
}

function isUsable({ support }: PagingProfile, direction: ScanDirection): boolean {
  const known = support[boundOf(direction)]
  return known === 'honoured' || known === 'unknown'
}

/** The edge did not advance: the range is finished, the overlap fills the page, or a second has more rows than a page. */
function handleStuckEdge(scan: ScanContext, phase: Paging, { page, bounds }: PageQuery): ScanStep {
  const { range, rangeScan, recent, isStalled } = phase
  const { direction } = rangeScan
  const bound = boundOf(direction)
  const { inclusiveBounds } = scan.profile
  if (!page.hasMore || !mayBeCut(scan.profile, phase, page)) return finishRange(scan, phase, page)
  const second = edgeSecond(direction, range)
  if (bounds[bound] !== second && inclusiveBounds[bound] !== false) {
    const overlapIds = idsWithin(second, scan.profile, page)
    return toStep({ ...scan, phase: { name: 'probing', range, rangeScan, recent, isStalled, overlapIds } })
  }
  if (isStalled) return giveUpRange(scan, phase, page)
  const rest = rangeBeyondEdge(direction, range)
  const next = continueWith(scan, range, { name: 'skipping', range: rest, rangeScan, recent }, page)
  return { ...next, timestampCollisions: [second] }
}

/** Rows may follow a page with `hasMore`, unless the service always sets it and this page is smaller than a full one. */
function mayBeCut(profile: PagingProfile, { recent }: Paging, { ids }: ScanPage): boolean {
  const { isHasMoreReliableIfShort, largestPage } = profile
  if (isHasMoreReliableIfShort === true || ids.length >= largestPage) return true
  return recent.provenPageSize > 0 && ids.length >= recent.provenPageSize
}

/** The rows of a page within this second. */
function idsWithin(second: EpochSeconds, { order }: PagingProfile, { ids, times }: ScanPage): string[] {
  return ids.filter((_, i) => order?.fields.some((field) => times[i]?.get(field) === second))
}

/**
 * A request without overlap showed that the bound excludes its second, or splits it by fractions that no row shows. The
 * page does not overlap the previous one, because it begins after a timestamp collision.
 */
export function showsExclusiveBound(phase: RangePhase, { ids }: ScanPage): boolean {
  if (phase.name !== 'probing' || phase.overlapIds.length === 0) return false
  const shown = new Set(ids)
  return !phase.overlapIds.some((id) => shown.has(id))
}

/** The bound excludes its second, which fills a page: that second is a timestamp collision, and the page begins after it. */
export function skipCollision(scan: ScanContext, phase: Paging, query: PageQuery): ScanStep {
  const { direction } = phase.rangeScan
  const inclusiveBounds = { ...scan.profile.inclusiveBounds, [boundOf(direction)]: false }
  const profile: PagingProfile = { ...scan.profile, inclusiveBounds }
  const next = continueRange({ ...scan, profile }, { ...phase, range: rangeBeyondEdge(direction, phase.range) }, query)
  return { ...next, timestampCollisions: [edgeSecond(direction, phase.range), ...next.timestampCollisions] }
}
