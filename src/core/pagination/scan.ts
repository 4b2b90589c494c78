/**
 * A scan reads a list by time ranges: it decides which page to request next, and what a page proves. Pure: a page in, the
 * next state out.
 *
 * The scan assumes nothing about the service: which time orders the list, which end comes first, whether bounds include
 * their own second, whether `hasMore` is exact. Requests overlap by one second, which is correct in every case, and the
 * pages show the rest.
 *
 *   request ──▶ page not full ──────────────────────────▶ range finished
 *    ▲          page full, its edge advanced ──▶ request from the edge
 *    │          edge did not advance ──▶ request without overlap ──▶ still not: a timestamp collision; skip that second
 *    └───────────────────────────────────────────────────┘
 */

import type { Seconds } from '../time.ts'
import { type ListEndpoint, maxPageSize } from './list-endpoint.ts'
import { conservativeOrder, edgeSecond, fallbackRangeOf, rangeBeyondEdge, remainingAfterPage } from './page-edge.ts'
import { findNewRows, isShortPage, type NewRows, type ScanPage, updateProfile } from './page-evidence.ts'
import { canFallBack, fallBack, hasAdvanced, isUnjoined, reportUnjoined, rowVersions } from './page-join.ts'
import { emptyProfile, type PagingProfile, type ScanDirection } from './paging-profile.ts'
import { allTime, type TimeRange } from './pending-ranges.ts'
import {
  gapReasons,
  type PageQuery,
  type RangeScan,
  type RangeStep,
  type ScanState,
  type ScanStep,
} from './scan-state.ts'
import { completeUpTo, inferOrder, type RowTimes, type SortOrder, type TimeBounds } from './sort-order.ts'

/** Begins a scan. The range without an end comes first, so that new rows are read before old ones. */
export function startScan(
  list: ListEndpoint,
  profile: PagingProfile | null,
  ranges: readonly TimeRange[],
  alwaysSaysMore: boolean | null = null,
): ScanState {
  const [first = null, ...others] = [...ranges].sort((a, b) => Number(b.hi === null) - Number(a.hi === null))
  return {
    list,
    profile: withoutMixedOrder(profile ?? emptyProfile(list)),
    currentRange: first,
    remainingRanges: others,
    nextRunRange: null,
    frozenCursorLimit: null,
    rangeScan: null,
    hasExactBound: false,
    overlapIds: [],
    recentPageIds: [],
    isStalled: false,
    isLastPageShort: false,
    unorderedPage: null,
    alwaysSaysMore,
    hasReportedUnordered: false,
    lastPageRows: new Set(),
    fallbackRange: null,
    lastFallbackAt: null,
  }
}

/** If the pages of a list run in both directions, an earlier direction says nothing. */
function withoutMixedOrder(profile: PagingProfile): PagingProfile {
  return profile.hasMixedOrder && profile.order !== null
    ? { ...profile, order: { ...profile.order, direction: null } }
    : profile
}

/** The upper bound of an open range if the service requires both bounds: 2100-01-01T00:00:00Z. */
const farFuture: Seconds = 4_102_444_800

/** The bounds of the next request: one second wider than the range, because bounds may be exclusive. */
export function nextRequest(scan: ScanState): TimeBounds {
  const { currentRange, profile, hasExactBound, rangeScan, list } = scan
  if (currentRange === null) return {}
  const isSent = (side: ScanDirection) =>
    profile.support[side] === 'honoured' || (profile.support[side] === 'unknown' && rangeScan?.direction === side)
  const isExact = (side: ScanDirection) =>
    hasExactBound && profile.inclusiveBounds[side] !== false && (rangeScan === null || rangeScan.direction === side)
  const isFirstRequest = rangeScan === null && !(profile.direction === 'up' && profile.support.up === 'honoured')
  const hasLowerBound = list.isDocumented || currentRange.lo > 0 || !isFirstRequest
  const end =
    currentRange.hi === null
      ? profile.requiresBothBounds
        ? farFuture
        : undefined
      : isExact('down')
        ? currentRange.hi
        : currentRange.hi + 1
  return {
    lower:
      isSent('up') && hasLowerBound ? Math.max(0, isExact('up') ? currentRange.lo : currentRange.lo - 1) : undefined,
    upper: isSent('down') ? end : undefined,
  }
}

/** The ranges still to be read by this run or the next: the cursor to store with the page's rows. */
export function pendingRanges(scan: ScanState): readonly TimeRange[] {
  return [
    ...(scan.currentRange === null ? [] : [scan.currentRange]),
    ...scan.remainingRanges,
    ...(scan.nextRunRange === null ? [] : [scan.nextRunRange]),
  ]
}

/** The state after a page that was requested with these bounds. */
export function applyPage(before: ScanState, bounds: TimeBounds, page: ScanPage): ScanStep {
  const { currentRange, unorderedPage } = before
  const observation = inferOrder(before.profile.order, page.times, bounds)
  const newRows = findNewRows(before.recentPageIds, before.rangeScan?.firstPage.page ?? null, page, observation.order)
  const isUnjoinedPage = isUnjoined(before, page, observation.order)
  const rangeScan = before.rangeScan && withOrigin(before, before.rangeScan, { page, bounds })
  const isLowerBoundProven =
    !isFullPage(before.profile, page) && before.rangeScan !== null && provesLowerBound(before.rangeScan, bounds, page)
  const isProven = !isUnjoinedPage && rangeScan !== null && (provesDirection(rangeScan, newRows) || isLowerBoundProven)
  const context = {
    direction: before.rangeScan?.direction ?? null,
    isProven,
    hasExactBound: before.hasExactBound,
    isLastPageShort: before.isLastPageShort,
  }
  const profile = updateProfile(before.profile, context, observation, bounds, page, newRows)
  const isPageFull = isFullPage(profile, page)
  const scan: ScanState = {
    ...before,
    profile,
    frozenCursorLimit: frozenCursorLimitOf(before, profile, page),
    overlapIds: [],
    recentPageIds: [new Set(page.ids), ...before.recentPageIds.slice(0, 1)],
    lastPageRows: rowVersions(page),
    fallbackRange: null,
    isStalled: before.isStalled && newRows.newIds.length === 0,
    unorderedPage:
      isPageFull && observation.isUnordered && currentRange !== null
        ? { lastRowId: page.ids.at(-1) ?? '', range: currentRange }
        : null,
    isLastPageShort: isShortPage(page),
    rangeScan: rangeScan && updateRangeScan(rangeScan, profile, isProven),
  }
  const isTryingBound = scan.rangeScan !== null && before.profile.support[scan.rangeScan.direction] === 'unknown'
  if (isTryingBound && observation.isUnordered) return { ...disableBound(before, 'ignored'), isOrderChanged: false }
  if (isUnjoinedPage && canFallBack(before)) return { ...fallBack(before, scan), isOrderChanged: observation.isChanged }
  const rangeStep = cutsOffOverlap(before, page)
    ? skipCollision(scan, bounds, page, isPageFull)
    : continueScan(scan, bounds, page, isPageFull)
  const nextStep = reportEmptyPage(before, page, reportUnjoined(before, isUnjoinedPage, rangeStep))
  const lost =
    unorderedPage !== null && !page.ids.includes(unorderedPage.lastRowId)
      ? unorderedPage
      : nextStep.state.rangeScan === null
        ? scan.unorderedPage
        : null
  if (lost === null || before.hasReportedUnordered) return { ...nextStep, isOrderChanged: observation.isChanged }
  return {
    state: { ...nextStep.state, hasReportedUnordered: true },
    timestampCollisions: nextStep.timestampCollisions,
    missingRanges: [{ range: lost.range, reason: gapReasons.unordered }, ...nextStep.missingRanges],
    isOrderChanged: observation.isChanged,
  }
}

/** The state after a 400: the service refused an undocumented parameter, or requires both bounds. */
export function applyRefusal(scan: ScanState, parameter: RefusedParameter): ScanStep {
  if (parameter === 'bound') return { ...disableBound(scan, 'refused'), isOrderChanged: false }
  const profile: PagingProfile =
    parameter === 'open end'
      ? { ...scan.profile, requiresBothBounds: true }
      : { ...scan.profile, support: { ...scan.profile.support, limit: 'refused' as const } }
  return { state: { ...scan, profile }, timestampCollisions: [], missingRanges: [], isOrderChanged: false }
}

export type RefusedParameter = 'limit' | 'bound' | 'open end'

/** A page with more rows than the maximum and without `hasMore` is not full: the service does not page at all. */
function isFullPage({ isHasMoreExact }: PagingProfile, page: ScanPage): boolean {
  const hasMore = page.hasMore && (isHasMoreExact !== false || !isShortPage(page))
  return page.ids.length > 0 && (hasMore || page.ids.length === maxPageSize)
}

/** Older rows existed before the scan; newer ones may have been added since, unless the pages begin with the oldest. */
function provesDirection({ direction, originEnd }: RangeScan, newRows: NewRows): boolean {
  return newRows.hasOlder || (direction === 'up' && originEnd === 'up' && newRows.newIds.length > 0)
}

/** The lower bound works: it removed rows that the first page showed without a bound. */
function provesLowerBound(
  { direction, firstPage, range }: RangeScan,
  { lower }: TimeBounds,
  { times }: ScanPage,
): boolean {
  if (direction !== 'up' || lower === undefined || lower > range.lo || firstPage.bounds.lower !== undefined)
    return false
  const isBefore = (row: RowTimes) => row.size > 0 && [...row.values()].every((at) => at < lower)
  return firstPage.page.times.some(isBefore) && !times.some(isBefore)
}

/** A direction that begins with the whole range has its own first page as its origin, which is not checked yet. */
function withOrigin(before: ScanState, rangeScan: RangeScan, origin: PageQuery): RangeScan {
  return hasAdvanced(before) ? rangeScan : { ...rangeScan, originPage: origin, originEnd: null, isStartChecked: false }
}

function updateRangeScan(rangeScan: RangeScan, profile: PagingProfile, isProven: boolean): RangeScan {
  return {
    ...rangeScan,
    hasClaimedMore: rangeScan.hasClaimedMore && (profile.isHasMoreExact !== false || !rangeScan.isFirstPageShort),
    isProven:
      rangeScan.isProven ||
      isProven ||
      (rangeScan.originEnd === rangeScan.direction && profile.support[rangeScan.direction] === 'honoured'),
    unverifiedRange:
      rangeScan.unverifiedRange ??
      (rangeScan.originEnd === null || rangeScan.originEnd === rangeScan.direction ? null : rangeScan.range),
  }
}

/** An empty page with `hasMore` set is a gap: no parameter leads to the rows after it. */
function reportEmptyPage(
  { currentRange, profile, alwaysSaysMore, rangeScan }: ScanState,
  { ids, hasMore }: ScanPage,
  next: RangeStep,
): RangeStep {
  if (
    ids.length > 0 ||
    !hasMore ||
    alwaysSaysMore === true ||
    profile.isHasMoreExact === false ||
    currentRange === null
  )
    return next
  if (alwaysSaysMore === null && rangeScan === null && currentRange.lo === 0) return next
  return { ...next, missingRanges: [...next.missingRanges, { range: currentRange, reason: gapReasons.emptyWithMore }] }
}

function continueScan(scan: ScanState, bounds: TimeBounds, page: ScanPage, isPageFull: boolean): RangeStep {
  return isPageFull ? advanceRange(scan, bounds, page) : finishRange(scan, page)
}

/**
 * A request without overlap showed that the bound excludes its second, or splits it by fractions that no row shows. The
 * page does not join the previous one, because it begins after a timestamp collision.
 */
function cutsOffOverlap({ overlapIds }: ScanState, { ids }: ScanPage): boolean {
  const shown = new Set(ids)
  return overlapIds.length > 0 && !overlapIds.some((id) => shown.has(id))
}

/** The rows of a page within this second. */
function overlapIdsOf({ profile: { order } }: ScanState, second: Seconds, { ids, times }: ScanPage): string[] {
  return ids.filter((_, i) => order?.fields.some((field) => times[i]?.get(field) === second))
}

function skipCollision(scan: ScanState, bounds: TimeBounds, page: ScanPage, isPageFull: boolean): RangeStep {
  const { currentRange, rangeScan } = scan
  if (currentRange === null || rangeScan === null) return finishRange(scan, page)
  const second = edgeSecond(rangeScan.direction, currentRange)
  const inclusiveBounds = { ...scan.profile.inclusiveBounds, [rangeScan.direction]: false }
  const profile: PagingProfile = { ...scan.profile, inclusiveBounds }
  const next = continueScan(
    { ...scan, profile, currentRange: rangeBeyondEdge(rangeScan.direction, currentRange), hasExactBound: false },
    bounds,
    page,
    isPageFull,
  )
  return { ...next, timestampCollisions: [second, ...next.timestampCollisions] }
}

/** After a full page: continues from its edge, or handles a timestamp collision. */
function advanceRange(scan: ScanState, bounds: TimeBounds, page: ScanPage): RangeStep {
  const range = scan.currentRange as TimeRange
  const order = scan.profile.order ?? conservativeOrder(page.times)
  if (order === null) return giveUpRange(scan, page, range)
  if (scan.rangeScan === null) return startRange(scan, bounds, page, order)
  const edge = remainingAfterPage(scan.rangeScan.direction, range, order, page.times)
  if (edge === null) return handleStuckEdge(scan, bounds, page)
  // At the end of a list no time advances, which says nothing about the order.
  const profile: PagingProfile =
    scan.profile.order === null || isShortPage(page) ? scan.profile : { ...scan.profile, order: edge.order }
  const fallbackRange = fallbackRangeOf(scan.rangeScan.direction, edge.range, order, page.times)
  return continueWith({ ...scan, profile, fallbackRange, hasExactBound: false }, edge.range, page)
}

/** The first full page of a range shows the direction of the pages. */
function startRange(scan: ScanState, bounds: TimeBounds, page: ScanPage, order: SortOrder): RangeStep {
  const currentRange = scan.currentRange as TimeRange
  const up = remainingAfterPage('up', currentRange, order, page.times)?.range ?? currentRange
  const down = remainingAfterPage('down', currentRange, order, page.times)?.range ?? currentRange
  // Newest rows first without a bound; with a lower bound the service may begin at the old end, so all rows remain.
  const isWholeRangeLeft = order.direction === 'descending' && bounds.lower === undefined
  const rangeScan = firstRangeScan(scan, { page, bounds }, { up: isWholeRangeLeft ? currentRange : up, down })
  if (!isUsable(scan, rangeScan.direction)) return finishRange({ ...scan, rangeScan }, page)
  const range = rangeScan.direction === 'up' ? (isWholeRangeLeft ? currentRange : up) : down
  return continueWith(
    { ...scan, rangeScan, fallbackRange: fallbackRangeOf(rangeScan.direction, range, order, page.times) },
    range,
    page,
  )
}

function firstRangeScan(
  scan: ScanState,
  firstPage: PageQuery,
  edges: Readonly<Record<ScanDirection, TimeRange>>,
): RangeScan {
  const { direction, support, order } = scan.profile
  const isUpSuggested =
    order?.direction == null ? isUsable(scan, 'up') || !isUsable(scan, 'down') : order.direction === 'ascending'
  const suggested: ScanDirection = isUpSuggested ? 'up' : 'down'
  const opposite: ScanDirection = suggested === 'up' ? 'down' : 'up'
  const chosen = direction ?? (isUsable(scan, suggested) ? suggested : opposite)
  const alternative: ScanDirection = chosen === 'up' ? 'down' : 'up'
  const isUndocumented = !scan.list.isDocumented && (support.up !== 'honoured' || support.down !== 'honoured')
  return {
    direction: chosen,
    oppositeRange: direction === null && isUsable(scan, alternative) ? edges[alternative] : null,
    isProven: direction !== null && isUsable(scan, direction),
    hasClaimedMore: firstPage.page.hasMore,
    isFirstPageShort: isShortPage(firstPage.page),
    firstPage,
    range: scan.currentRange ?? allTime,
    originPage: firstPage,
    originEnd: null,
    isStartChecked: false,
    unverifiedRange: isUndocumented || chosen !== suggested || !isUsable(scan, chosen) ? scan.currentRange : null,
  }
}

function isUsable(scan: ScanState, direction: ScanDirection): boolean {
  return scan.profile.support[direction] === 'honoured' || scan.profile.support[direction] === 'unknown'
}

/** Continues with the rest of the range. When the scan reads downwards, the open end is left for the next run. */
function continueWith(scan: ScanState, range: TimeRange, page: ScanPage | null): RangeStep {
  const wasOpenEnd = scan.currentRange?.hi === null && range.hi !== null
  const nextRunRange =
    wasOpenEnd && scan.currentRange !== null ? nextRunRangeOf(scan, scan.currentRange, page) : scan.nextRunRange
  const next: ScanState = { ...scan, currentRange: range, nextRunRange: range.hi === null ? null : nextRunRange }
  if (range.hi !== null && range.hi < range.lo) return finishRange(next, page)
  return { state: next, timestampCollisions: [], missingRanges: [] }
}

/** The edge did not advance: the range is finished, the overlap fills the page, or a second has more rows than a page. */
function handleStuckEdge(scan: ScanState, bounds: TimeBounds, page: ScanPage): RangeStep {
  const { currentRange, rangeScan, profile, isStalled } = scan
  if (currentRange === null || rangeScan === null || !page.hasMore || page.ids.length < profile.largestPage)
    return finishRange(scan, page)
  const second = edgeSecond(rangeScan.direction, currentRange)
  const isExact = (rangeScan.direction === 'up' ? bounds.lower : bounds.upper) === second
  if (!isExact && profile.inclusiveBounds[rangeScan.direction] !== false) {
    return {
      state: { ...scan, hasExactBound: true, overlapIds: overlapIdsOf(scan, second, page) },
      timestampCollisions: [],
      missingRanges: [],
    }
  }
  if (isStalled) return giveUpRange(scan, page, currentRange)
  return {
    ...continueWith(
      { ...scan, hasExactBound: true, isStalled: true },
      rangeBeyondEdge(rangeScan.direction, currentRange),
      page,
    ),
    timestampCollisions: [second],
  }
}

/** The bound that was tried does not work: continues in the other direction, or finishes the range. */
function disableBound(scan: ScanState, why: 'refused' | 'ignored'): RangeStep {
  const { rangeScan, profile } = scan
  if (rangeScan === null) return finishRange(scan, null)
  const support = { ...profile.support, [rangeScan.direction]: why }
  const inclusiveBounds = { ...profile.inclusiveBounds, [rangeScan.direction]: null }
  const unproven: RangeScan = {
    ...rangeScan,
    isProven: false,
    hasClaimedMore: true,
    unverifiedRange: rangeScan.unverifiedRange ?? scan.currentRange,
  }
  return finishRange({ ...scan, profile: { ...profile, support, inclusiveBounds }, rangeScan: unproven }, null)
}

/** The rest of the range is unreachable, and so is an earlier unverified range. */
function giveUpRange(scan: ScanState, page: ScanPage, range: TimeRange): RangeStep {
  const { rangeScan } = scan
  const lost =
    rangeScan?.hasClaimedMore && !rangeScan.isProven && rangeScan.unverifiedRange !== null
      ? rangeScan.unverifiedRange
      : range
  const next = finishRange({ ...scan, rangeScan: null }, page)
  return { ...next, missingRanges: [{ range: lost, reason: gapReasons.unreachable }, ...next.missingRanges] }
}

/** This direction is finished: continues in the opposite one if `hasMore` is unproven, else with the next range. */
function finishRange(scan: ScanState, page: ScanPage | null): RangeStep {
  const { rangeScan, remainingRanges, currentRange } = scan
  const isUnproven = rangeScan?.hasClaimedMore === true && !rangeScan.isProven
  if (isUnproven && rangeScan.oppositeRange !== null) {
    const direction: ScanDirection = rangeScan.direction === 'up' ? 'down' : 'up'
    const recentPageIds = [new Set(rangeScan.firstPage.page.ids)]
    const lastPageRows = rowVersions(rangeScan.firstPage.page)
    return continueWith(
      {
        ...scan,
        recentPageIds,
        lastPageRows,
        lastFallbackAt: null,
        hasExactBound: false,
        isStalled: false,
        rangeScan: { ...rangeScan, direction, oppositeRange: null },
      },
      rangeScan.oppositeRange,
      page,
    )
  }
  const nextRunRange = currentRange?.hi === null ? nextRunRangeOf(scan, currentRange, page) : scan.nextRunRange
  const [first = null, ...others] = remainingRanges
  const next: ScanState = {
    ...scan,
    currentRange: first,
    remainingRanges: others,
    nextRunRange,
    rangeScan: null,
    hasExactBound: false,
    recentPageIds: [],
    lastFallbackAt: null,
    isStalled: false,
    isLastPageShort: false,
  }
  const unverified = isUnproven ? rangeScan.unverifiedRange : null
  return {
    state: next,
    timestampCollisions: [],
    missingRanges: unverified === null ? [] : [{ range: unverified, reason: gapReasons.unreachable }],
  }
}

/** The next run begins with the newest second seen, but not beyond the cursor limit. */
function nextRunRangeOf(
  { profile, frozenCursorLimit }: ScanState,
  { lo }: TimeRange,
  page: ScanPage | null,
): TimeRange {
  const seen = page === null ? lo : Math.max(lo, newestTime(profile, page))
  return { lo: Math.min(seen, page?.cursorLimit ?? seen, frozenCursorLimit ?? seen), hi: null }
}

function frozenCursorLimitOf(
  { frozenCursorLimit, currentRange }: ScanState,
  profile: PagingProfile,
  page: ScanPage,
): Seconds | null {
  if (frozenCursorLimit !== null || currentRange === null || currentRange.hi !== null) return frozenCursorLimit
  return newestTime(profile, page) > page.cursorLimit ? page.cursorLimit : null
}

function newestTime({ order }: PagingProfile, page: ScanPage): Seconds {
  return (order === null ? undefined : completeUpTo(order, page.times)) ?? 0
}
