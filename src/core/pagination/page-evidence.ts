/** What a page proves about the service besides the order of its rows: which rows are new, what bounds include. */
import { clockToleranceSeconds } from '../cursor-limit.ts'
import type { EpochSeconds } from '../time.ts'
import { defaultPageSize, maxPageSize } from './list-endpoint.ts'
import { type Bound, boundOf, type PagingProfile, type ScanDirection } from './paging-profile.ts'
import { minOf, type OrderObservation, type RowTimes, type SortOrder, type TimeBounds } from './sort-order.ts'

export type ScanPage = {
  readonly ids: readonly string[]
  readonly times: readonly RowTimes[]
  readonly hasMore: boolean
  /** The earlier of the two clocks when the page was requested. No row of it moves a cursor beyond. */
  readonly cursorLimit: EpochSeconds
}

/** A page and the bounds of its request. */
export type PageQuery = { readonly page: ScanPage; readonly bounds: TimeBounds }

/**
 * `newIds`: rows that the last two pages did not have. `hasOlder`: some of them are older than the whole first page, so they
 * existed before the scan; a newer row may have been added since. `hasRepeated`: the page repeats a row.
 */
export type NewRows = { readonly newIds: readonly string[]; readonly hasOlder: boolean; readonly hasRepeated: boolean }

export type RecentIds = readonly ReadonlySet<string>[]

/** `seen`: the ids of the last pages. `first`: the first page of the range, if this is a later one. */
export function findNewRows(seen: RecentIds, first: ScanPage | null, page: ScanPage, order: SortOrder | null): NewRows {
  const isKnown = (id: string) => seen.some((ids) => ids.has(id))
  const isNew = (_: unknown, i: number) => !isKnown(page.ids[i] ?? '')
  const hasOlder = first !== null && order !== null && page.times.filter(isNew).some(isOlderThan(first, order))
  return { newIds: page.ids.filter(isNew), hasOlder, hasRepeated: page.ids.some(isKnown) }
}

/** By every candidate for the sort field. */
function isOlderThan({ times }: ScanPage, { fields }: SortOrder): (row: RowTimes) => boolean {
  const edges = fields.map((field) => [field, minOf(times.map((row) => row.get(field) ?? 0)) ?? 0] as const)
  return (row) => edges.every(([field, at]) => (row.get(field) ?? at) < at)
}

/** `hasMore` is set on a page so small that the page size cannot have limited it. */
export function isShortPage({ ids, hasMore }: ScanPage): boolean {
  return hasMore && ids.length < defaultPageSize
}

/** A page with more rows than the maximum and without `hasMore` is not full: the service does not page at all. */
export function isFullPage({ isHasMoreReliableIfShort }: PagingProfile, page: ScanPage): boolean {
  const hasMore = page.hasMore && (isHasMoreReliableIfShort !== false || !isShortPage(page))
  return page.ids.length > 0 && (hasMore || page.ids.length === maxPageSize)
}

/** Rows with their times: a row whose times have changed does not count as repeated. */
export function rowFingerprints({ ids, times }: ScanPage): ReadonlySet<string> {
  return new Set(ids.map((id, i) => `${id} ${[...(times[i] ?? [])].join()}`))
}

/** The same sort fields in the other direction: pages may run one side with a bound and the other side without. */
function isOrderReversed(before: SortOrder | null, now: SortOrder | null): boolean {
  if (before?.direction == null || now?.direction == null || before.direction === now.direction) return false
  return now.fields.every((field) => before.fields.includes(field))
}

/** What is known of a page that is not the first one of its range. */
type PageContext = {
  /** The direction of the scan, if the page proves it. */
  readonly provenDirection: ScanDirection | null
  /** The bound at which the request had no overlap; null = both overlapped. */
  readonly exactBound: Bound | null
  readonly isLastPageShort: boolean
  /** The largest page of the scan that new rows followed; 0 = none. */
  readonly provenPageSize: number
  readonly newRows: NewRows
}

/** The profile after a page. `context`: null for the first page of a range. */
export function updateProfile(
  profile: PagingProfile,
  context: PageContext | null,
  { order, fit }: OrderObservation,
  { page, bounds }: PageQuery,
): PagingProfile {
  const { support, isHasMoreReliableIfShort, largestPage } = profile
  const isInclusive = (bound: Bound) => {
    const known = profile.inclusiveBounds[bound]
    const at = bounds[bound]
    const [field, ...others] = order?.fields ?? []
    // Bounds may compare with hidden fractions and show a part of their second, so `false` is final.
    if (at === undefined || field === undefined || known === false) return known
    const isShown = page.times.some((row) => row.get(field) === at)
    if (others.length === 0 && isShown) return true
    // The request without overlap begins with a second that has rows, so a bound that shows none of them is exclusive.
    return known === null && context?.exactBound === bound ? context.newRows.hasRepeated || isShown : known
  }
  const proven = context?.provenDirection ?? null
  const provenBound = proven && boundOf(proven)
  const observedLimit = page.ids.length > defaultPageSize ? 'honoured' : page.hasMore ? 'ignored' : 'unknown'
  return {
    ...profile,
    order,
    hasMixedOrder: profile.hasMixedOrder || isOrderReversed(profile.order, order),
    inclusiveBounds: { lower: isInclusive('lower'), upper: isInclusive('upper') },
    direction: fit === 'contradicts' ? null : (proven ?? profile.direction),
    isHasMoreReliableIfShort: isHasMoreReliableIfShort || isHasMoreReliableAfter(profile, context, page),
    support: {
      ...support,
      ...(provenBound !== null && support[provenBound] === 'unknown' ? { [provenBound]: 'honoured' } : {}),
      limit: support.limit === 'unknown' ? observedLimit : support.limit,
    },
    largestPage: page.hasMore ? Math.max(largestPage, page.ids.length) : largestPage,
  }
}

/** A page with rows and without `hasMore` proves that the service does not always set it. */
function isHasMoreReliableAfter(profile: PagingProfile, context: PageContext | null, page: ScanPage): boolean | null {
  if (page.ids.length > 0 && !page.hasMore) return true
  if (!context?.isLastPageShort || context.newRows.newIds.length > 0) return profile.isHasMoreReliableIfShort
  // A page as large as one that was cut may be cut, too, within a second that fills it.
  const mayBeCut = page.hasMore && context.provenPageSize > 0 && page.ids.length >= context.provenPageSize
  return mayBeCut ? profile.isHasMoreReliableIfShort : false
}

/**
 * Ids of the rows that are dated in the future by every time that may be the sort field; by all of their times if the
 * order of the list is not known yet.
 */
export function findFutureDated(order: SortOrder | null, { ids, times, cursorLimit }: ScanPage): readonly string[] {
  return ids.filter((_, i) => {
    const row = times[i] ?? new Map<string, number>()
    const shown = order === null ? [...row.values()] : order.fields.flatMap((field) => row.get(field) ?? [])
    return shown.length > 0 && shown.every((at) => at > cursorLimit + clockToleranceSeconds)
  })
}
