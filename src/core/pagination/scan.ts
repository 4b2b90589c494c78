/**
 * A scan reads a list by time ranges: it decides which page to request next, and what a page proves. Pure: a page in, the
 * next state out. `scan-state.ts` draws the phases.
 *
 * The scan assumes nothing about the service: which time orders the list, which end comes first, whether bounds include
 * their own second, whether `hasMore` is exact. Requests overlap by one second, which is correct in every case, and the
 * pages show the rest.
 */
import type { EpochSeconds } from '../time.ts'
import { continueRange, showsExclusiveBound, skipCollision } from './advance-range.ts'
import { provesDirection, updateRangeScan, withOrigin } from './direction-proof.ts'
import { disableBound, newestTime, openNextRange } from './finish-range.ts'
import type { ListEndpoint } from './list-endpoint.ts'
import { fallBack, isDiscontiguous } from './page-edge.ts'
import { findNewRows, isFullPage, type PageQuery, type ScanPage, updateProfile } from './page-evidence.ts'
import { type Bound, boundOf, emptyProfile, type PagingProfile } from './paging-profile.ts'
import type { PendingRanges, TimeRange } from './pending-ranges.ts'
import type { ActiveScan, Paging, RangePhase, ScanContext, ScanState, ScanStep } from './scan-state.ts'
import { exactBound, recentPages, toGap, toStep } from './scan-state.ts'
import { inferOrder, type OrderObservation, type TimeBounds } from './sort-order.ts'

/** Begins a scan. The range without an end comes first, so that new rows are read before old ones. */
export function startScan(
  list: ListEndpoint,
  profile: PagingProfile | null,
  ranges: PendingRanges,
  isHasMoreReliableIfEmpty: boolean | null = null,
): ScanState {
  return openNextRange({
    list,
    profile: withoutMixedOrder(profile ?? emptyProfile(list)),
    remainingRanges: [...ranges].sort((a, b) => Number(b.hi === null) - Number(a.hi === null)),
    nextRunRange: null,
    frozenCursorLimit: null,
    isHasMoreReliableIfEmpty,
    unorderedPage: null,
    isUnorderedReported: false,
  })
}

/** If the pages of a list run in both directions, an earlier direction says nothing. */
function withoutMixedOrder(profile: PagingProfile): PagingProfile {
  const { order, hasMixedOrder } = profile
  return hasMixedOrder && order !== null ? { ...profile, order: { ...order, direction: null } } : profile
}

/** The upper bound of an open range if the service requires both bounds: 2100-01-01T00:00:00Z. */
const farFuture: EpochSeconds = 4_102_444_800

/** The bounds of the next request: one second wider than the range, because bounds may be exclusive. */
export function nextRequest({ list, profile, phase }: ActiveScan): TimeBounds {
  const { lo, hi } = phase.range
  const isOpening = phase.name === 'opening'
  const isSent = (bound: Bound) =>
    profile.support[bound] === 'honoured' ||
    (profile.support[bound] === 'unknown' && !isOpening && boundOf(phase.rangeScan.direction) === bound)
  const overlapAt = (bound: Bound) => (exactBound(phase) === bound && profile.inclusiveBounds[bound] !== false ? 0 : 1)
  const mayOmitLowerBound = isOpening && !(profile.direction === 'forward' && profile.support.lower === 'honoured')
  const hasLowerBound = list.isDocumented || lo > 0 || !mayOmitLowerBound
  const openEnd = profile.requiresBothBounds ? farFuture : undefined
  return {
    lower: isSent('lower') && hasLowerBound ? Math.max(0, lo - overlapAt('lower')) : undefined,
    upper: isSent('upper') ? (hi === null ? openEnd : hi + overlapAt('upper')) : undefined,
  }
}

/** The ranges still to be read by this run or the next: the cursor to store with the page's rows. */
export function pendingRanges({ phase, remainingRanges, nextRunRange }: ScanState): PendingRanges {
  const currentRange = phase.name === 'done' ? null : phase.range
  return [currentRange, ...remainingRanges, nextRunRange].filter((range) => range !== null)
}

/** The state after a page. */
export function applyPage(before: ActiveScan, query: PageQuery): ScanStep {
  const { phase, profile } = before
  const observation = inferOrder(profile.order, query.page.times, query.bounds)
  if (phase.name !== 'opening') return applyLaterPage(before, phase, query, observation)
  const after = nextContext(before, query.page, observation, updateProfile(profile, null, observation, query))
  return reportGaps(before, query.page, continueRange(after, phase, query), null)
}

/** The state after a page that is not the first one of its range. */
function applyLaterPage(before: ActiveScan, phase: RangePhase, query: PageQuery, observation: OrderObservation) {
  const { profile } = before
  const { page } = query
  const { direction } = phase.rangeScan
  const isBoundUntried = profile.support[boundOf(direction)] === 'unknown'
  if (observation.fit === 'unordered' && isBoundUntried) return disableBound(before, phase, 'ignored')
  const gapAfter = phase.name === 'paging' && isDiscontiguous(phase, page, observation.order) ? phase : null
  const newRows = findNewRows(phase.recent.ids, phase.rangeScan.firstPage.page, page, observation.order)
  const rangeScan = withOrigin(phase, query)
  const isProven = gapAfter === null && provesDirection(rangeScan, profile, query, newRows)
  const provenDirection = isProven ? direction : null
  const { isLastShort: isLastPageShort, provenPageSize } = phase.recent
  const context = { provenDirection, exactBound: exactBound(phase), isLastPageShort, provenPageSize, newRows }
  const after = nextContext(before, page, observation, updateProfile(profile, context, observation, query))
  const paging: Paging = {
    name: 'paging',
    range: phase.range,
    rangeScan: updateRangeScan(rangeScan, after.profile, isProven),
    recent: recentPages(page, phase.recent),
    isStalled: (phase.name === 'skipping' || phase.isStalled) && newRows.newIds.length === 0,
    fallbackRange: null,
  }
  const fallback = gapAfter && fallBack(gapAfter, paging)
  if (fallback !== null) return toStep({ ...after, phase: fallback })
  const advance = showsExclusiveBound(phase, page) ? skipCollision : continueRange
  return reportGaps(before, page, advance(after, paging, query), gapAfter)
}

/** The state after a 400: the service refused an undocumented parameter, or requires both bounds. */
export function applyRefusal(scan: ActiveScan, parameter: RefusedParameter): ScanStep {
  const { profile, phase } = scan
  if (parameter === 'missing upper bound') return toStep({ ...scan, profile: { ...profile, requiresBothBounds: true } })
  if (parameter === 'bound') return disableBound(scan, phase, 'refused')
  return toStep({ ...scan, profile: { ...profile, support: { ...profile.support, limit: 'refused' } } })
}

export type RefusedParameter = 'limit' | 'bound' | 'missing upper bound'

function nextContext(scan: ActiveScan, page: ScanPage, { fit }: OrderObservation, profile: PagingProfile): ScanContext {
  const { range } = scan.phase
  const isAhead = range.hi === null && newestTime(profile, page) > page.cursorLimit
  const isUnordered = fit === 'unordered' && isFullPage(profile, page)
  return {
    ...scan,
    profile,
    frozenCursorLimit: scan.frozenCursorLimit ?? (isAhead ? page.cursorLimit : null),
    unorderedPage: isUnordered ? { lastRowId: page.ids.at(-1) ?? '', range } : null,
  }
}

/** Adds the gaps that a page shows to those of its step. `gapAfter`: the phase whose last page it does not overlap. */
function reportGaps(before: ActiveScan, page: ScanPage, step: ScanStep, gapAfter: Paging | null): ScanStep {
  const unorderedGap = unorderedRange(before, step.state, page)
  return {
    ...step,
    state: unorderedGap === null ? step.state : { ...step.state, isUnorderedReported: true },
    missedRanges: [
      ...(unorderedGap === null ? [] : [toGap(unorderedGap, 'unordered')]),
      ...(gapAfter === null ? [] : [toGap(gapAfter.fallbackRange ?? gapAfter.range, 'discontiguous')]),
      ...step.missedRanges,
      ...(isEmptyWithMore(before, page) ? [toGap(before.phase.range, 'emptyWithMore')] : []),
    ],
  }
}

/** The range of an unordered page whose last row the next page does not repeat; null = none, or already reported. */
function unorderedRange(before: ActiveScan, { phase, unorderedPage }: ScanState, page: ScanPage): TimeRange | null {
  if (before.isUnorderedReported) return null
  const previous = before.unorderedPage
  if (previous !== null && !page.ids.includes(previous.lastRowId)) return previous.range
  const isRangeFinished = phase.name === 'opening' || phase.name === 'done'
  return isRangeFinished && unorderedPage !== null ? unorderedPage.range : null
}

/** An empty page with `hasMore` set is a gap: no parameter leads to the rows after it. */
function isEmptyWithMore(scan: ActiveScan, { ids, hasMore }: ScanPage): boolean {
  const { phase, profile, isHasMoreReliableIfEmpty: isReliable } = scan
  if (ids.length > 0 || !hasMore || isReliable === false || profile.isHasMoreReliableIfShort === false) return false
  return isReliable === true || phase.name !== 'opening' || phase.range.lo !== 0
}
