/** What one page proves about the service, beyond the order of its rows: which rows are new, what bounds include. */

import type { Seconds } from '../time.ts'
import { defaultPageSize } from './list-endpoint.ts'
import { minOf } from './min-max.ts'
import type { PagingProfile, ScanDirection } from './paging-profile.ts'
import type { OrderObservation, RowTimes, SortOrder, TimeBounds } from './sort-order.ts'

export type ScanPage = {
  readonly ids: readonly string[]
  readonly times: readonly RowTimes[]
  readonly hasMore: boolean
  /** The smaller of the two clocks when it was asked for; no row of it carries a cursor beyond. */
  readonly cursorLimit: Seconds
}

/**
 * Rows that the last two pages did not have, whether some are older than all that the first page showed, and whether rows
 * are repeated. An older row was there before the walk began; of a newer one nobody can say when it was written, as no
 * clock but that of the rows is known to agree with them.
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
  const isFresh = (_: unknown, i: number) => !isKnown(page.ids[i] ?? '')
  const older = first !== null && order !== null && page.times.filter(isFresh).some(isOlderThan(first, order))
  return { newIds: page.ids.filter(isFresh), hasOlder: older, hasRepeated: page.ids.some(isKnown) }
}

/** Under every candidate for the order. */
function isOlderThan({ times }: ScanPage, { fields }: SortOrder): (row: RowTimes) => boolean {
  const edges = fields.map((field) => [field, minOf(times.map((row) => row.get(field) ?? 0)) ?? 0] as const)
  return (row) => edges.every(([field, at]) => (row.get(field) ?? at) < at)
}

/** Whether the service says that more follows a page so small that it cannot have been cut off. */
export function isShortPage({ ids, hasMore }: ScanPage): boolean {
  return hasMore && ids.length < defaultPageSize
}

/** The same times, the other way round: pages may run so with one bound and otherwise without. */
function isOrderReversed(before: SortOrder | null, now: SortOrder | null): boolean {
  if (before?.direction == null || now?.direction == null || before.direction === now.direction) return false
  return now.fields.every((field) => before.fields.includes(field))
}

type PageContext = {
  readonly direction: ScanDirection | null
  readonly isProven: boolean
  readonly hasExactBound: boolean
  readonly isLastPageShort: boolean
}

/**
 * What is known after a page. `side`: the way the walk goes, null before it is known; `proven`: this page proves it;
 * `tight`: asked without overlap; `short`: the page before was.
 */
export function updateProfile(
  profile: PagingProfile,
  { direction: side, isProven: proven, hasExactBound: tight, isLastPageShort: short }: PageContext,
  observation: OrderObservation,
  timeBounds: TimeBounds,
  page: ScanPage,
  newRows: NewRows,
): PagingProfile {
  const { order } = observation
  const isInclusive = (way: ScanDirection) => {
    const at = way === 'up' ? timeBounds.lower : timeBounds.upper
    const [field, ...others] = order?.fields ?? []
    // A bound that compares with fractions may show some of its second and not all: that it once cut rows off stays true.
    if (at === undefined || field === undefined || profile.inclusiveBounds[way] === false)
      return profile.inclusiveBounds[way]
    if (others.length === 0 && page.times.some((row) => row.get(field) === at)) return true
    // Without overlap we asked for a second that is known to hold rows: what does not come is excluded.
    const asking = tight && side === way && profile.inclusiveBounds[way] === null
    return asking
      ? newRows.hasRepeated || page.times.some((row) => row.get(field) === at)
      : profile.inclusiveBounds[way]
  }
  const shown = proven ? side : null
  const { limit } = profile.support
  const observedLimit = page.ids.length > defaultPageSize ? 'honoured' : page.hasMore ? 'ignored' : 'unknown'
  const bounds = shown !== null && profile.support[shown] === 'unknown' ? { [shown]: 'honoured' as const } : {}
  const more = page.hasMore ? profile.isHasMoreExact : true
  return {
    ...profile,
    order,
    hasMixedOrder: profile.hasMixedOrder || isOrderReversed(profile.order, observation.order),
    inclusiveBounds: { up: isInclusive('up'), down: isInclusive('down') },
    direction: observation.isChanged ? null : (shown ?? profile.direction),
    // Who always says that there is more never says that there is not.
    isHasMoreExact:
      !short || profile.isHasMoreExact ? profile.isHasMoreExact : newRows.newIds.length > 0 ? more : false,
    support: { ...profile.support, ...bounds, limit: limit === 'unknown' ? observedLimit : limit },
    largestPage: page.hasMore ? Math.max(profile.largestPage, page.ids.length) : profile.largestPage,
  }
}
