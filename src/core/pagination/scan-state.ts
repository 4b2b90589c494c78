/** What a walk over a list has come to: what is left, which way it goes, and what the pages have shown. */

import type { Seconds } from '../time.ts'
import type { ListEndpoint } from './list-endpoint.ts'
import type { ScanPage } from './page-evidence.ts'
import type { PagingProfile, ScanDirection } from './paging-profile.ts'
import type { TimeRange } from './pending-ranges.ts'
import type { TimeBounds } from './sort-order.ts'

export type ScanState = {
  readonly list: ListEndpoint
  readonly profile: PagingProfile
  /** The range being covered; null = nothing is left to ask. */
  readonly currentRange: TimeRange | null
  readonly remainingRanges: readonly TimeRange[]
  /** What the next pass begins with, once the open end of the time line has been seen. */
  readonly nextRunRange: TimeRange | null
  /** The clocks when a page first showed rows dated ahead of them: what comes since may lie before those. */
  readonly frozenCursorLimit: Seconds | null
  /** The way that the pages of this range lead, and what to try if it turns out to lead nowhere. */
  readonly rangeScan: RangeScan | null
  /** Ask without the overlap: it would fill the page. */
  readonly hasExactBound: boolean
  /** Rows of a second that fills a page: the page asked without overlap shows some of them, or the bound cuts them off. */
  readonly overlapIds: readonly string[]
  /** The ids of the last two pages: what makes a row a fresh one. */
  readonly recentPageIds: readonly ReadonlySet<string>[]
  /** A crowded second was passed and nothing new has come since. */
  readonly isStalled: boolean
  /** The last page was small, and said all the same to have more behind it. */
  readonly isLastPageShort: boolean
  /** What is to be joined: the last row of a page that followed no time that it showed, and the range it was asked for. */
  readonly unorderedPage: { readonly last: string; readonly range: TimeRange } | null
  /**
   * Whether the service is known to say of any last page that there is more: then an empty one that has more is no claim.
   * Null: of a list that is empty from its beginning nobody can say just now.
   */
  readonly alwaysSaysMore: boolean | null
  /** Pages did not join; said once. */
  readonly hasReportedUnordered: boolean
  /** The last page's rows where they stood: the next one joins it that shows one of them there again. */
  readonly last: ReadonlySet<string>
  /** What to go back to if the next page joins nothing: from the middle of the last page; null = that has been tried. */
  readonly fallbackRange: TimeRange | null
  /** Where it was gone back from: not twice from there, nor from anywhere before, so that every walk ends. */
  readonly lastFallbackAt: Seconds | null
}

/** A page, and the question that it answers. */
export type PageQuery = { readonly page: ScanPage; readonly bounds: TimeBounds }

/** One direction through a range, and what its first page said. */
export type RangeScan = {
  readonly direction: ScanDirection
  /** Where the other side would go on from the first page; null = it cannot be asked, or was tried. */
  readonly oppositeRange: TimeRange | null
  readonly isProven: boolean
  /** The first page said that there was more. */
  readonly hasClaimedMore: boolean
  /** It was so small that saying so may be no more than a habit. */
  readonly isFirstPageShort: boolean
  /** The first page of the range, and the range that it was asked for. */
  readonly firstPage: PageQuery
  readonly range: TimeRange
  /** The page that this side goes on from: the first one, or its own first where it has to begin with the whole range. */
  readonly originPage: PageQuery
  /** The end that `origin` was taken from, once that has been asked for; null = not told. */
  readonly originEnd: ScanDirection | null
  readonly isStartChecked: boolean
  /** What is missing if nothing more comes on any side; null = then nothing is. */
  readonly unverifiedRange: TimeRange | null
}

export type ScanStep = {
  readonly state: ScanState
  /** Seconds that hold more rows than a page: the walk goes on behind them, and parts of the list may still show them. */
  readonly timestampCollisions: readonly Seconds[]
  /** What this walk could not see. */
  readonly missingRanges: readonly { readonly range: TimeRange; readonly reason: string }[]
  /** The page contradicts what was believed about the list's order. */
  readonly isOrderChanged: boolean
}

/** A step, as far as the ranges are concerned. */
export type RangeStep = Omit<ScanStep, 'isOrderChanged'>

export const gapReasons = {
  timestampCollision: 'more rows share this second than one page holds',
  unreachable: 'the service says that there is more, and no parameter leads there',
  unordered: 'the rows follow no time that they show, so that pages may not join',
  emptyWithMore: 'the service says that there is more, and shows none of it',
  unjoined: 'a page shows no row of the one before it, so that rows between them may be missing',
} as const
