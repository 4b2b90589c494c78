/**
 * The walk over a list: which page to ask for next, and what a page proves. Pure: a page in, the next state out.
 *
 * A walk covers ranges of the time line, second by second. It knows nothing for certain about the service: which time
 * orders the list, which end comes first, whether bounds include their own second, whether `hasMore` is exact. It asks
 * with one second of overlap, which is right either way, and lets the pages tell the rest.
 *
 *   ask ──▶ page not full ───────────────────────────▶ range covered
 *    ▲      page full, its edge moved on ──▶ ask from the edge
 *    │      edge did not move ──▶ ask without overlap ──▶ still not: a crowded second; name it, go on behind it
 *    └────────────────────────────────────────────────┘
 */

import type { Seconds } from '../time.ts'
import { type ListEndpoint, maxPageSize } from './list-endpoint.ts'
import { conservativeOrder, edgeSecond, fallbackRangeOf, rangeBeyondEdge, remainingAfterPage } from './page-edge.ts'
import { findNewRows, isShortPage, type NewRows, type ScanPage, updateProfile } from './page-evidence.ts'
import { canFallBack, fallBack, hasAdvanced, isUnjoined, reportUnjoined, rowPlaces } from './page-join.ts'
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

/** A walk over some ranges, the open end first: news before history. */
export function startScan(
  list: ListEndpoint,
  profile: PagingProfile | null,
  ranges: readonly TimeRange[],
  alwaysSaysMore: boolean | null = null,
): ScanState {
  const [now = null, ...rest] = [...ranges].sort((a, b) => Number(b.hi === null) - Number(a.hi === null))
  return {
    list,
    profile: withoutMixedOrder(profile ?? emptyProfile(list)),
    currentRange: now,
    remainingRanges: rest,
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
    last: new Set(),
    fallbackRange: null,
    lastFallbackAt: null,
  }
}

/** Where pages run both ways, no belief about the way is brought along. */
function withoutMixedOrder(profile: PagingProfile): PagingProfile {
  return profile.hasMixedOrder && profile.order !== null
    ? { ...profile, order: { ...profile.order, direction: null } }
    : profile
}

/** Stands for the open end of the time line, where a service wants both bounds: 2100-01-01T00:00:00Z. */
const farFuture: Seconds = 4_102_444_800

/** The bounds to ask the next page with. One second more than needed on each side, as bounds may exclude themselves. */
export function nextRequest(scan: ScanState): TimeBounds {
  const { currentRange: now, profile: known, hasExactBound: tight, rangeScan: leg, list } = scan
  if (now === null) return {}
  const isSent = (side: ScanDirection) =>
    known.support[side] === 'honoured' || (known.support[side] === 'unknown' && leg?.direction === side)
  const isExact = (side: ScanDirection) =>
    tight && known.inclusiveBounds[side] !== false && (leg === null || leg.direction === side)
  const isFirstRequest = leg === null && !(known.direction === 'up' && known.support.up === 'honoured')
  const hasLowerBound = list.isDocumented || now.lo > 0 || !isFirstRequest
  const end =
    now.hi === null ? (known.requiresBothBounds ? farFuture : undefined) : isExact('down') ? now.hi : now.hi + 1
  return {
    lower: isSent('up') && hasLowerBound ? Math.max(0, isExact('up') ? now.lo : now.lo - 1) : undefined,
    upper: isSent('down') ? end : undefined,
  }
}

/** What is still to be covered, by this pass or the next: the position to store with the page's rows. */
export function pendingRanges(scan: ScanState): readonly TimeRange[] {
  return [
    ...(scan.currentRange === null ? [] : [scan.currentRange]),
    ...scan.remainingRanges,
    ...(scan.nextRunRange === null ? [] : [scan.nextRunRange]),
  ]
}

/** The state after a page that was asked with `asked`. */
export function applyPage(before: ScanState, bounds: TimeBounds, page: ScanPage): ScanStep {
  const { currentRange: now, unorderedPage: loose } = before
  const observation = inferOrder(before.profile.order, page.times, bounds)
  const newRows = findNewRows(before.recentPageIds, before.rangeScan?.firstPage.page ?? null, page, observation.order)
  const isUnjoinedPage = isUnjoined(before, page, observation.order)
  const rangeScan = before.rangeScan && withOrigin(before, before.rangeScan, { page, bounds })
  const whole =
    !isFullPage(before.profile, page) && before.rangeScan !== null && provesLowerBound(before.rangeScan, bounds, page)
  const proven = !isUnjoinedPage && rangeScan !== null && (provesDirection(rangeScan, newRows) || whole)
  const context = {
    direction: before.rangeScan?.direction ?? null,
    isProven: proven,
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
    last: rowPlaces(page),
    fallbackRange: null,
    isStalled: before.isStalled && newRows.newIds.length === 0,
    unorderedPage:
      isPageFull && observation.isUnordered && now !== null ? { last: page.ids.at(-1) ?? '', range: now } : null,
    isLastPageShort: isShortPage(page),
    rangeScan: rangeScan && updateRangeScan(rangeScan, profile, proven),
  }
  const isTryingBound = scan.rangeScan !== null && before.profile.support[scan.rangeScan.direction] === 'unknown'
  if (isTryingBound && observation.isUnordered) return { ...disableBound(before, 'ignored'), isOrderChanged: false }
  if (isUnjoinedPage && canFallBack(before)) return { ...fallBack(before, scan), isOrderChanged: observation.isChanged }
  const rangeStep = cutsOffOverlap(before, page)
    ? skipCollision(scan, bounds, page, isPageFull)
    : continueScan(scan, bounds, page, isPageFull)
  const nextStep = reportEmptyPage(before, page, reportUnjoined(before, isUnjoinedPage, rangeStep))
  const lost =
    loose !== null && !page.ids.includes(loose.last)
      ? loose
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

/** The state after a 400: to the page size or the bound being tried, where undocumented, or to a bound left out. */
export function applyRefusal(scan: ScanState, parameter: RefusedParameter): ScanStep {
  if (parameter === 'bound') return { ...disableBound(scan, 'refused'), isOrderChanged: false }
  const open: PagingProfile = { ...scan.profile, requiresBothBounds: true }
  const known: PagingProfile =
    parameter === 'open end'
      ? open
      : { ...scan.profile, support: { ...scan.profile.support, limit: 'refused' as const } }
  return { state: { ...scan, profile: known }, timestampCollisions: [], missingRanges: [], isOrderChanged: false }
}

export type RefusedParameter = 'limit' | 'bound' | 'open end'

/** More rows than a page can have, and no word of others: the service does not page at all. */
function isFullPage({ isHasMoreExact: exact }: PagingProfile, page: ScanPage): boolean {
  const more = page.hasMore && (exact !== false || !isShortPage(page))
  return page.ids.length > 0 && (more || page.ids.length === maxPageSize)
}

/** Older rows were there before the walk began; newer ones may have been written since, if not the oldest came first. */
function provesDirection({ direction: side, originEnd: end }: RangeScan, newRows: NewRows): boolean {
  return newRows.hasOlder || (side === 'up' && end === 'up' && newRows.newIds.length > 0)
}

/** Whether a page of the whole range shows that its lower bound holds rows back: by those that the first page showed without. */
function provesLowerBound(
  { direction: side, firstPage: begun, range }: RangeScan,
  { lower }: TimeBounds,
  { times }: ScanPage,
): boolean {
  if (side !== 'up' || lower === undefined || lower > range.lo || begun.bounds.lower !== undefined) return false
  const isBefore = (row: RowTimes) => row.size > 0 && [...row.values()].every((at) => at < lower)
  return begun.page.times.some(isBefore) && !times.some(isBefore)
}

/** What is known of the page that a side goes on from is nothing about one with which it begins anew. */
function withOrigin(before: ScanState, rangeScan: RangeScan, origin: PageQuery): RangeScan {
  return hasAdvanced(before) ? rangeScan : { ...rangeScan, originPage: origin, originEnd: null, isStartChecked: false }
}

function updateRangeScan(rangeScan: RangeScan, profile: PagingProfile, proven: boolean): RangeScan {
  return {
    ...rangeScan,
    hasClaimedMore: rangeScan.hasClaimedMore && (profile.isHasMoreExact !== false || !rangeScan.isFirstPageShort),
    isProven:
      rangeScan.isProven ||
      proven ||
      (rangeScan.originEnd === rangeScan.direction && profile.support[rangeScan.direction] === 'honoured'),
    unverifiedRange:
      rangeScan.unverifiedRange ??
      (rangeScan.originEnd === null || rangeScan.originEnd === rangeScan.direction ? null : rangeScan.range),
  }
}

/** An empty page with more behind it leads nowhere: nobody can say what comes after it. */
function reportEmptyPage(
  { currentRange: now, profile: known, alwaysSaysMore: habit, rangeScan: leg }: ScanState,
  { ids, hasMore }: ScanPage,
  next: RangeStep,
): RangeStep {
  if (ids.length > 0 || !hasMore || habit === true || known.isHasMoreExact === false || now === null) return next
  if (habit === null && leg === null && now.lo === 0) return next
  return { ...next, missingRanges: [...next.missingRanges, { range: now, reason: gapReasons.emptyWithMore }] }
}

function continueScan(scan: ScanState, bounds: TimeBounds, page: ScanPage, isPageFull: boolean): RangeStep {
  return isPageFull ? advanceRange(scan, bounds, page) : finishRange(scan, page)
}

/**
 * Asking without overlap has just shown that a bound excludes its second, or cuts through it where it compares with
 * fractions that no row shows: the page does not join the one before. It lies behind the second, which is crowded.
 */
function cutsOffOverlap({ overlapIds: joints }: ScanState, { ids }: ScanPage): boolean {
  const shown = new Set(ids)
  return joints.length > 0 && !joints.some((id) => shown.has(id))
}

/** The rows of a page that lie in this second. */
function overlapIdsOf({ profile: { order } }: ScanState, second: Seconds, { ids, times }: ScanPage): string[] {
  return ids.filter((_, i) => order?.fields.some((field) => times[i]?.get(field) === second))
}

function skipCollision(scan: ScanState, bounds: TimeBounds, page: ScanPage, isPageFull: boolean): RangeStep {
  const { currentRange: now, rangeScan: leg, profile: known } = scan
  if (now === null || leg === null) return finishRange(scan, page)
  const second = edgeSecond(leg.direction, now)
  const profile: PagingProfile = { ...known, inclusiveBounds: { ...known.inclusiveBounds, [leg.direction]: false } }
  const next = continueScan(
    { ...scan, profile, currentRange: rangeBeyondEdge(leg.direction, now), hasExactBound: false },
    bounds,
    page,
    isPageFull,
  )
  return { ...next, timestampCollisions: [second, ...next.timestampCollisions] }
}

/** After a full page: on from its edge, or through a second that is too crowded. */
function advanceRange(scan: ScanState, bounds: TimeBounds, page: ScanPage): RangeStep {
  const range = scan.currentRange as TimeRange
  const order = scan.profile.order ?? conservativeOrder(page.times)
  if (order === null) return giveUpRange(scan, page, range)
  if (scan.rangeScan === null) return startRange(scan, bounds, page, order)
  const edge = remainingAfterPage(scan.rangeScan.direction, range, order, page.times)
  if (edge === null) return handleStuckEdge(scan, bounds, page)
  // At the end of a list all times stand still.
  const known: PagingProfile =
    scan.profile.order === null || isShortPage(page) ? scan.profile : { ...scan.profile, order: edge.order }
  const fallbackRange = fallbackRangeOf(scan.rangeScan.direction, edge.range, order, page.times)
  return continueWith({ ...scan, profile: known, fallbackRange, hasExactBound: false }, edge.range, page)
}

/** The first full page of a range: it shows which way the pages lead. */
function startRange(scan: ScanState, bounds: TimeBounds, page: ScanPage, order: SortOrder): RangeStep {
  const currentRange = scan.currentRange as TimeRange
  const up = remainingAfterPage('up', currentRange, order, page.times)?.range ?? currentRange
  const down = remainingAfterPage('down', currentRange, order, page.times)?.range ?? currentRange
  // Newest rows first without a bound: with one, the service may well begin at the old end, so all of it is still to come.
  const isWholeLeft = order.direction === 'descending' && bounds.lower === undefined
  const rangeScan = firstRangeScan(scan, { page, bounds }, { up: isWholeLeft ? currentRange : up, down })
  if (!isUsable(scan, rangeScan.direction)) return finishRange({ ...scan, rangeScan }, page)
  const range = rangeScan.direction === 'up' ? (isWholeLeft ? currentRange : up) : down
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
  const { direction: side, support: trust, order } = scan.profile
  const upwards =
    order?.direction == null ? isUsable(scan, 'up') || !isUsable(scan, 'down') : order.direction === 'ascending'
  const suggested: ScanDirection = upwards ? 'up' : 'down'
  const opposite: ScanDirection = suggested === 'up' ? 'down' : 'up'
  const pick = side ?? (isUsable(scan, suggested) ? suggested : opposite)
  const spare: ScanDirection = pick === 'up' ? 'down' : 'up'
  const isUndocumented = !scan.list.isDocumented && (trust.up !== 'honoured' || trust.down !== 'honoured')
  return {
    direction: pick,
    oppositeRange: side === null && isUsable(scan, spare) ? edges[spare] : null,
    isProven: side !== null && isUsable(scan, side),
    hasClaimedMore: firstPage.page.hasMore,
    isFirstPageShort: isShortPage(firstPage.page),
    firstPage,
    range: scan.currentRange ?? allTime,
    originPage: firstPage,
    originEnd: null,
    isStartChecked: false,
    unverifiedRange: isUndocumented || pick !== suggested || !isUsable(scan, pick) ? scan.currentRange : null,
  }
}

function isUsable(scan: ScanState, direction: ScanDirection): boolean {
  return scan.profile.support[direction] === 'honoured' || scan.profile.support[direction] === 'unknown'
}

/** On with what remains of the range; the open end is put aside for the next pass when the walk turns down. */
function continueWith(scan: ScanState, range: TimeRange, page: ScanPage | null): RangeStep {
  const wasOpenEnd = scan.currentRange?.hi === null && range.hi !== null
  const nextRunRange =
    wasOpenEnd && scan.currentRange !== null ? nextRunRangeOf(scan, scan.currentRange, page) : scan.nextRunRange
  const next: ScanState = { ...scan, currentRange: range, nextRunRange: range.hi === null ? null : nextRunRange }
  if (range.hi !== null && range.hi < range.lo) return finishRange(next, page)
  return { state: next, timestampCollisions: [], missingRanges: [] }
}

/** The edge does not move: nothing more, an overlap that fills the page, or a second with more rows than a page. */
function handleStuckEdge(scan: ScanState, bounds: TimeBounds, page: ScanPage): RangeStep {
  const { currentRange: now, rangeScan: leg, profile: known, isStalled: barren } = scan
  if (now === null || leg === null || !page.hasMore || page.ids.length < known.largestPage)
    return finishRange(scan, page)
  const second = edgeSecond(leg.direction, now)
  const isExact = (leg.direction === 'up' ? bounds.lower : bounds.upper) === second
  if (!isExact && known.inclusiveBounds[leg.direction] !== false) {
    return {
      state: { ...scan, hasExactBound: true, overlapIds: overlapIdsOf(scan, second, page) },
      timestampCollisions: [],
      missingRanges: [],
    }
  }
  if (barren) return giveUpRange(scan, page, now)
  return {
    ...continueWith({ ...scan, hasExactBound: true, isStalled: true }, rangeBeyondEdge(leg.direction, now), page),
    timestampCollisions: [second],
  }
}

/** The side being tried leads nowhere: the other one, or the end. */
function disableBound(scan: ScanState, why: 'refused' | 'ignored'): RangeStep {
  const { rangeScan: leg, profile: known } = scan
  if (leg === null) return finishRange(scan, null)
  const trust = { ...known.support, [leg.direction]: why }
  const includes = { ...known.inclusiveBounds, [leg.direction]: null }
  const unproven: RangeScan = {
    ...leg,
    isProven: false,
    hasClaimedMore: true,
    unverifiedRange: leg.unverifiedRange ?? scan.currentRange,
  }
  return finishRange(
    { ...scan, profile: { ...known, support: trust, inclusiveBounds: includes }, rangeScan: unproven },
    null,
  )
}

/** The rest of the range cannot be had; nor what was in doubt before. */
function giveUpRange(scan: ScanState, page: ScanPage, range: TimeRange): RangeStep {
  const { rangeScan: leg } = scan
  const lost = leg?.hasClaimedMore && !leg.isProven && leg.unverifiedRange !== null ? leg.unverifiedRange : range
  const next = finishRange({ ...scan, rangeScan: null }, page)
  return { ...next, missingRanges: [{ range: lost, reason: gapReasons.unreachable }, ...next.missingRanges] }
}

/** Nothing more comes on this side of the range: the other side, if the service claimed more; else the next range. */
function finishRange(scan: ScanState, page: ScanPage | null): RangeStep {
  const { rangeScan: leg, remainingRanges: rest, currentRange: now } = scan
  const isUnproven = leg?.hasClaimedMore === true && !leg.isProven
  if (isUnproven && leg.oppositeRange !== null) {
    const direction: ScanDirection = leg.direction === 'up' ? 'down' : 'up'
    const recent = [new Set(leg.firstPage.page.ids)]
    const last = rowPlaces(leg.firstPage.page)
    return continueWith(
      {
        ...scan,
        recentPageIds: recent,
        last,
        lastFallbackAt: null,
        hasExactBound: false,
        isStalled: false,
        rangeScan: { ...leg, direction, oppositeRange: null },
      },
      leg.oppositeRange,
      page,
    )
  }
  const nextRunRange = now?.hi === null ? nextRunRangeOf(scan, now, page) : scan.nextRunRange
  const [first = null, ...others] = rest
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
  const doubt = isUnproven ? leg.unverifiedRange : null
  return {
    state: next,
    timestampCollisions: [],
    missingRanges: doubt === null ? [] : [{ range: doubt, reason: gapReasons.unreachable }],
  }
}

/** Where the next pass begins: with the newest second seen, if the clocks have come so far. */
function nextRunRangeOf(
  { profile: known, frozenCursorLimit: cap }: ScanState,
  { lo }: TimeRange,
  page: ScanPage | null,
): TimeRange {
  const seen = page === null ? lo : Math.max(lo, newestTime(known, page))
  return { lo: Math.min(seen, page?.cursorLimit ?? seen, cap ?? seen), hi: null }
}

function frozenCursorLimitOf(
  { frozenCursorLimit: cap, currentRange: now }: ScanState,
  known: PagingProfile,
  page: ScanPage,
): Seconds | null {
  if (cap !== null || now === null || now.hi !== null) return cap
  return newestTime(known, page) > page.cursorLimit ? page.cursorLimit : null
}

function newestTime({ order }: PagingProfile, page: ScanPage): Seconds {
  return (order === null ? undefined : completeUpTo(order, page.times)) ?? 0
}
