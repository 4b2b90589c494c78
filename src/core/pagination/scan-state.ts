/** The state of a scan over a list: the remaining ranges, the direction, and what the pages have shown. */
import type { Seconds } from '../time.ts'
import type { ListEndpoint } from './list-endpoint.ts'
import type { ScanPage } from './page-evidence.ts'
import type { PagingProfile, ScanDirection } from './paging-profile.ts'
import type { TimeRange } from './pending-ranges.ts'
import type { TimeBounds } from './sort-order.ts'

export type ScanState = {
  readonly list: ListEndpoint
  readonly profile: PagingProfile
  /** The range being read; null = the scan is finished. */
  readonly currentRange: TimeRange | null
  readonly remainingRanges: readonly TimeRange[]
  /** Where the next run begins, once the open end has been read. */
  readonly nextRunRange: TimeRange | null
  /** The cursor limit when a page first showed future-dated rows: rows added since may be dated before those. */
  readonly frozenCursorLimit: Seconds | null
  /** The direction of the pages in this range, and what to try if it does not work. */
  readonly rangeScan: RangeScan | null
  /** The next request has no overlap, because the overlap would fill the page. */
  readonly hasExactBound: boolean
  /** Rows of a second that fills a page. If a request without overlap shows none of them, the bound excludes them. */
  readonly overlapIds: readonly string[]
  /** The ids of the last two pages; other rows are new. */
  readonly recentPageIds: readonly ReadonlySet<string>[]
  /** A timestamp collision was skipped and no new row has followed. */
  readonly isStalled: boolean
  /** The last page was short and had `hasMore` set. */
  readonly isLastPageShort: boolean
  /** The last row of a page that was ordered by none of its times, and its range: the next page has to show that row. */
  readonly unorderedPage: { readonly lastRowId: string; readonly range: TimeRange } | null
  /**
   * The service sets `hasMore` on every last page, so an empty page with `hasMore` means nothing. Null: not known yet,
   * then a list that is empty from its beginning is decided later.
   */
  readonly alwaysSaysMore: boolean | null
  /** That pages did not join was already reported. */
  readonly hasReportedUnordered: boolean
  /** The rows of the last page with their times. The next page joins it if it repeats one of them. */
  readonly lastPageRows: ReadonlySet<string>
  /** The range to fall back to if the next page does not join: from the middle of the last page; null = already tried. */
  readonly fallbackRange: TimeRange | null
  /** The edge of the last fallback. Later fallbacks must be beyond it, so that every scan ends. */
  readonly lastFallbackAt: Seconds | null
}

/** A page and the bounds of its request. */
export type PageQuery = { readonly page: ScanPage; readonly bounds: TimeBounds }

/** The scan of one range in one direction. */
export type RangeScan = {
  readonly direction: ScanDirection
  /** The rest of the range in the other direction; null = not possible, or already tried. */
  readonly oppositeRange: TimeRange | null
  /** A page proved the direction. */
  readonly isProven: boolean
  /** The first page had `hasMore` set. */
  readonly hasClaimedMore: boolean
  /** The first page was short, so its `hasMore` may be meaningless. */
  readonly isFirstPageShort: boolean
  /** The first page of the range, and the range that was requested. */
  readonly firstPage: PageQuery
  readonly range: TimeRange
  /** The page from which this direction continues: the first page, or its own first one if it begins with the whole range. */
  readonly originPage: PageQuery
  /** The end from which `originPage` was taken, by the start check; null = unknown. */
  readonly originEnd: ScanDirection | null
  readonly isStartChecked: boolean
  /** What is missing if neither direction shows further rows; null = nothing. */
  readonly unverifiedRange: TimeRange | null
}

export type ScanStep = {
  readonly state: ScanState
  /** Seconds with more rows than a page. The scan skips them; partitions of the list may show them. */
  readonly timestampCollisions: readonly Seconds[]
  /** What this scan could not read. */
  readonly missingRanges: readonly { readonly range: TimeRange; readonly reason: string }[]
  /** The page contradicts the assumed order of the list. */
  readonly isOrderChanged: boolean
}

/** The part of a step that the ranges decide. */
export type RangeStep = Omit<ScanStep, 'isOrderChanged'>

/** Stored in `sync_gaps`: a changed text would make an open gap a second one. */
export const gapReasons = {
  timestampCollision: 'more rows share this second than one page holds',
  unreachable: 'the service says that there is more, and no parameter leads there',
  unordered: 'the rows follow no time that they show, so that pages may not join',
  emptyWithMore: 'the service says that there is more, and shows none of it',
  unjoined: 'a page shows no row of the one before it, so that rows between them may be missing',
} as const
