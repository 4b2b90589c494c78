/**
 * The state of a scan over a list. Its ranges are read one by one, each in these phases:
 *
 *   opening ──full page──▶ paging ──edge stuck──▶ probing ──still stuck──▶ skipping ──still stuck, new rows──▶ skipping
 *                            ▲                       │                        │
 *                            └─── edge advanced ─────┴────────────────────────┘
 *
 *   every phase ──page not full, or no way on──▶ paging in the opposite direction, opening the next range, or done
 */
import type { EpochSeconds } from '../time.ts'
import type { ListEndpoint } from './list-endpoint.ts'
import { isShortPage, type PageQuery, type RecentIds, rowFingerprints, type ScanPage } from './page-evidence.ts'
import { type Bound, boundOf, type ListEnd, type PagingProfile, type ScanDirection } from './paging-profile.ts'
import type { PendingRanges, TimeRange } from './pending-ranges.ts'

export type ScanState = ScanContext & { readonly phase: ScanPhase }

/** A scan that has something to request. */
export type ActiveScan = ScanContext & { readonly phase: Opening | RangePhase }

export function isActive(scan: ScanState): scan is ActiveScan {
  return scan.phase.name !== 'done'
}

/** The part of the state that is kept from range to range. */
export type ScanContext = {
  readonly list: ListEndpoint
  readonly profile: PagingProfile
  /** The ranges after the current one. */
  readonly remainingRanges: PendingRanges
  /** Where the next run begins, once the open end has been read. */
  readonly nextRunRange: TimeRange | null
  /**
   * The cursor limit when a page first showed future-dated rows. The next run begins there at the latest, because rows
   * added meanwhile are dated before the future-dated ones.
   */
  readonly frozenCursorLimit: EpochSeconds | null
  /**
   * Whether `hasMore` of an empty page is reliable. False: the service sets it on every last page. Null: not known yet, then
   * a list that is empty from its beginning is decided later.
   */
  readonly isHasMoreReliableIfEmpty: boolean | null
  /** A page that is sorted by none of its times: a gap in `range`, unless the next page repeats its last row. */
  readonly unorderedPage: { readonly lastRowId: string; readonly range: TimeRange } | null
  /** That gap was reported, which happens once per scan. */
  readonly isUnorderedReported: boolean
}

export type ScanPhase = Opening | RangePhase | { readonly name: 'done' }

/** The next page is the first one of this range. */
export type Opening = { readonly name: 'opening'; readonly range: TimeRange }

/** The direction of the pages is chosen. */
export type RangePhase = Paging | Probing | Skipping

/** The next request overlaps the last page by a second. */
export type Paging = InRange & {
  readonly name: 'paging'
  /** A timestamp collision was skipped and no new row has followed. */
  readonly isStalled: boolean
  /** Where to fall back to if the next page does not overlap: the middle of the last page; null = already tried. */
  readonly fallbackRange: TimeRange | null
}

/** The overlap filled the page, so the next request has none. */
export type Probing = InRange & {
  readonly name: 'probing'
  readonly isStalled: boolean
  /** The rows of the second that filled the page. If the next page shows none of them, the bound excludes that second. */
  readonly overlapIds: readonly string[]
}

/** The next request begins right after a timestamp collision, without overlap. */
export type Skipping = InRange & { readonly name: 'skipping' }

type InRange = {
  /** The rest of the range. */
  readonly range: TimeRange
  readonly rangeScan: RangeScan
  readonly recent: RecentPages
}

/** What is remembered of the last pages. */
export type RecentPages = {
  /** The ids of the last two pages; other rows are new. */
  readonly ids: RecentIds
  /** The rows of the last page with their times. The next page overlaps it if it repeats one of them. */
  readonly lastRows: ReadonlySet<string>
  /** The last page was short and had `hasMore` set. */
  readonly isLastShort: boolean
  /** The largest page that new rows followed: the service cuts pages at that size, or below. 0 = none. */
  readonly provenPageSize: number
}

/** The scan of one range in one direction. */
export type RangeScan = {
  readonly direction: ScanDirection
  /** The rest of the range in the other direction; null = not possible, or already tried. */
  readonly oppositeRange: TimeRange | null
  /** The first page had `hasMore` set, and no page has proved that this direction leads to those rows. */
  readonly hasUnprovenMore: boolean
  /** The first page of the range, and the range that was requested. */
  readonly firstPage: PageQuery
  readonly wholeRange: TimeRange
  /** The start check repeats its request. The direction's first page if it began with the whole range, else `firstPage`. */
  readonly originPage: PageQuery
  /** The end of the list from which `originPage` came, as the start check found. */
  readonly originEnd: ListEnd | 'unknown' | 'unchecked'
  /** The gap to report if neither direction shows further rows; null = none. */
  readonly unverifiedRange: TimeRange | null
  /** The edge of the last fallback. Later fallbacks must be beyond it, so that every scan ends. */
  readonly lastFallbackAt: EpochSeconds | null
}

export type ScanStep = {
  readonly state: ScanState
  /** Seconds with more rows than a page. The scan skips them; partitions of the list may show them. */
  readonly timestampCollisions: readonly EpochSeconds[]
  /** What this scan could not read. */
  readonly missedRanges: readonly MissedRange[]
}

export type MissedRange = { readonly range: TimeRange; readonly reason: string }

/** Stored in `sync_gaps`: a changed text needs a migration as `0012_gap_reasons.ts`, or an open gap is opened again. */
export const gapReasons = {
  timestampCollision: 'more rows share this second than one page holds',
  unreachable: 'the service reports more rows, but no request parameter reaches them',
  unordered: 'the rows are not sorted by any of their times, so rows between pages may be missing',
  emptyWithMore: 'the service reports more rows, but the page is empty',
  discontiguous: 'a page does not overlap the previous one, so rows between them may be missing',
} as const

export function toStep(state: ScanState): ScanStep {
  return { state, timestampCollisions: [], missedRanges: [] }
}

export function toGap(range: TimeRange, reason: keyof typeof gapReasons): MissedRange {
  return { range, reason: gapReasons[reason] }
}

/** The bound at which the next request has no overlap; null = both overlap. */
export function exactBound(phase: Opening | RangePhase): Bound | null {
  return phase.name === 'probing' || phase.name === 'skipping' ? boundOf(phase.rangeScan.direction) : null
}

/** Earlier pages have covered a part of the range, so the next page has to overlap them. */
export function hasAdvanced({ range, rangeScan: { direction, wholeRange } }: RangePhase): boolean {
  return direction === 'forward' ? range.lo > wholeRange.lo : range.hi !== wholeRange.hi
}

export function recentPages(page: ScanPage, before: RecentPages | null): RecentPages {
  const [lastIds = new Set<string>(), ...earlier] = before?.ids ?? []
  const isFollowed = page.ids.some((id) => !lastIds.has(id) && !earlier.some((ids) => ids.has(id)))
  const provenPageSize = Math.max(before?.provenPageSize ?? 0, isFollowed ? lastIds.size : 0)
  const ids = [new Set(page.ids), ...(before === null ? [] : [lastIds])]
  return { ids, lastRows: rowFingerprints(page), isLastShort: isShortPage(page), provenPageSize }
}
