/** What a single page proves: whether it is cut, and what it shows about the service. */
import { clockToleranceSeconds } from '../../../values/cursor-limit.ts'
import type { EpochSeconds } from '../../../values/time.ts'
import { type ListEndpoint, pageSizesOf } from './list-endpoint.ts'
import type { Bound, PagingProfile } from './paging-profile.ts'
import type { OrderObservation, RowTimes, SortOrder, TimeBounds } from './sort-order.ts'

export type ScanPage = {
  readonly ids: readonly string[]
  readonly times: readonly RowTimes[]
  readonly hasMore: boolean
  /** The earlier of the two clocks when the page was requested. No row of it moves a cursor beyond. */
  readonly cursorLimit: EpochSeconds
}

/** `hasMore` is set on a page so small that the page size cannot have limited it. */
export function isShortPage(list: ListEndpoint, { ids, hasMore }: ScanPage): boolean {
  return hasMore && ids.length < pageSizesOf(list).usual
}

/** More rows may match than the page shows. */
export function isCut(list: ListEndpoint, profile: PagingProfile, page: ScanPage): boolean {
  const { most, usual } = pageSizesOf(list)
  const size = page.ids.length
  if (size === 0) return false
  if (page.hasMore) return profile.isHasMoreReliableIfShort !== false || size >= usual
  // A service may never set `hasMore`. More rows than `most` are no page.
  return !profile.setsHasMore && size >= usual && size <= most
}

/** Most rows are outside the bounds: the service ignores a bound. */
export function isBoundIgnored(page: ScanPage, bounds: TimeBounds, order: SortOrder | null): boolean {
  return page.times.filter((row) => isOutside(row, bounds, order)).length > page.times.length / 2
}

/** By every time that may be the sort field. */
export function isOutside(row: RowTimes, { lower, upper }: TimeBounds, order: SortOrder | null): boolean {
  const all = order === null ? [...row.values()] : order.fields.flatMap((field) => row.get(field) ?? [])
  return all.length > 0 && (all.every((at) => at < (lower ?? at)) || all.every((at) => at > (upper ?? at)))
}

export function showsNewRows({ ids }: ScanPage, before: ScanPage): boolean {
  const known = new Set(before.ids)
  return ids.some((id) => !known.has(id))
}

/** Rows with their times: a row whose times have changed does not count as repeated. */
export function rowFingerprints({ ids, times }: ScanPage): ReadonlySet<string> {
  return new Set(ids.map((id, i) => `${id} ${[...(times[i] ?? [])].join()}`))
}

/** The profile after a page. */
export function learnFromPage(
  profile: PagingProfile,
  { order }: OrderObservation,
  page: ScanPage,
  bounds: TimeBounds,
  { usual }: { readonly usual: number },
): PagingProfile {
  const { support, largestPage, inclusiveBounds } = profile
  const [field, ...others] = order?.fields ?? []
  const isInclusive = (bound: Bound) => {
    const at = bounds[bound]
    // Bounds may compare with hidden fractions and show a part of their second, so `false` is final.
    if (at === undefined || field === undefined || others.length > 0 || inclusiveBounds[bound] === false)
      return inclusiveBounds[bound]
    return page.times.some((row) => row.get(field) === at) || inclusiveBounds[bound]
  }
  const size = page.ids.length
  const limit = support.limit === 'unknown' && size > usual ? 'honoured' : support.limit
  return {
    ...profile,
    order,
    hasMixedOrder: profile.hasMixedOrder || isOrderReversed(profile.order, order),
    inclusiveBounds: { lower: isInclusive('lower'), upper: isInclusive('upper') },
    isHasMoreReliableIfShort: size > 0 && !page.hasMore ? true : profile.isHasMoreReliableIfShort,
    setsHasMore: profile.setsHasMore || page.hasMore,
    support: { ...support, limit },
    largestPage: page.hasMore ? Math.max(largestPage, size) : largestPage,
  }
}

/** The same sort fields in the other direction: pages may run one side with a bound and the other side without. */
function isOrderReversed(before: SortOrder | null, now: SortOrder | null): boolean {
  if (before?.direction == null || now?.direction == null || before.direction === now.direction) return false
  return now.fields.every((field) => before.fields.includes(field))
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
