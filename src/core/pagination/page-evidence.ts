/** What a page proves about the service besides the order of its rows: which rows are new, what bounds include. */
import { clockTolerance } from '../cursor-limit.ts'
import type { Seconds } from '../time.ts'
import { defaultPageSize } from './list-endpoint.ts'
import type { PagingProfile, ScanDirection } from './paging-profile.ts'
import { minOf, type OrderObservation, type RowTimes, type SortOrder, type TimeBounds } from './sort-order.ts'

export type ScanPage = {
  readonly ids: readonly string[]
  readonly times: readonly RowTimes[]
  readonly hasMore: boolean
  /** The earlier of the two clocks when the page was requested. No row of it moves a cursor beyond. */
  readonly cursorLimit: Seconds
}

/**
 * `newIds`: rows that the last two pages did not have. `hasOlder`: some of them are older than the whole first page, so they
 * existed before the scan; a newer row may have been added since. `hasRepeated`: the page repeats a row.
 */
export type NewRows = { readonly newIds: readonly string[]; readonly hasOlder: boolean; readonly hasRepeated: boolean }

/** `recent`: the ids of the last pages. `first`: the first page of the range, if this is a later one. */
export function findNewRows(
  recent: readonly ReadonlySet<string>[],
  first: ScanPage | null,
  page: ScanPage,
  order: SortOrder | null,
): NewRows {
  const isKnown = (id: string) => recent.some((ids) => ids.has(id))
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

/** The same sort fields in the other direction: pages may run one side with a bound and the other side without. */
function isOrderReversed(before: SortOrder | null, now: SortOrder | null): boolean {
  if (before?.direction == null || now?.direction == null || before.direction === now.direction) return false
  return now.fields.every((field) => before.fields.includes(field))
}

/** What is known before a page. */
type PageContext = {
  /** The direction of the scan; null before it is known. */
  readonly direction: ScanDirection | null
  /** The page proves that direction. */
  readonly isProven: boolean
  /** Requested without overlap. */
  readonly hasExactBound: boolean
  readonly isLastPageShort: boolean
}

/** The profile after a page that was requested with these bounds. */
export function updateProfile(
  profile: PagingProfile,
  { direction, isProven, hasExactBound, isLastPageShort }: PageContext,
  observation: OrderObservation,
  timeBounds: TimeBounds,
  page: ScanPage,
  newRows: NewRows,
): PagingProfile {
  const { order } = observation
  const isInclusive = (side: ScanDirection) => {
    const at = side === 'up' ? timeBounds.lower : timeBounds.upper
    const [field, ...others] = order?.fields ?? []
    // Bounds may compare with hidden fractions and show a part of their second, so `false` is final.
    if (at === undefined || field === undefined || profile.inclusiveBounds[side] === false)
      return profile.inclusiveBounds[side]
    if (others.length === 0 && page.times.some((row) => row.get(field) === at)) return true
    // The request without overlap begins with a second that has rows, so a bound that shows none of them is exclusive.
    const isTested = hasExactBound && direction === side && profile.inclusiveBounds[side] === null
    return isTested
      ? newRows.hasRepeated || page.times.some((row) => row.get(field) === at)
      : profile.inclusiveBounds[side]
  }
  const provenDirection = isProven ? direction : null
  const { limit } = profile.support
  const observedLimit = page.ids.length > defaultPageSize ? 'honoured' : page.hasMore ? 'ignored' : 'unknown'
  const bounds =
    provenDirection !== null && profile.support[provenDirection] === 'unknown'
      ? { [provenDirection]: 'honoured' as const }
      : {}
  const afterNewRows = page.hasMore ? profile.isHasMoreExact : true
  return {
    ...profile,
    order,
    hasMixedOrder: profile.hasMixedOrder || isOrderReversed(profile.order, observation.order),
    inclusiveBounds: { up: isInclusive('up'), down: isInclusive('down') },
    direction: observation.isChanged ? null : (provenDirection ?? profile.direction),
    // Only a later page without `hasMore` proves that the service does not always set it.
    isHasMoreExact:
      !isLastPageShort || profile.isHasMoreExact
        ? profile.isHasMoreExact
        : newRows.newIds.length > 0
          ? afterNewRows
          : false,
    support: { ...profile.support, ...bounds, limit: limit === 'unknown' ? observedLimit : limit },
    largestPage: page.hasMore ? Math.max(profile.largestPage, page.ids.length) : profile.largestPage,
  }
}

/**
 * Ids of the rows that are dated in the future by every time that may be the sort field; by all of their times if the
 * order of the list is not known yet.
 */
export function findFutureDated(order: SortOrder | null, { ids, times, cursorLimit }: ScanPage): readonly string[] {
  return ids.filter((_, i) => {
    const row = times[i] ?? new Map<string, number>()
    const shown = order === null ? [...row.values()] : order.fields.flatMap((field) => row.get(field) ?? [])
    return shown.length > 0 && shown.every((at) => at > cursorLimit + clockTolerance)
  })
}
