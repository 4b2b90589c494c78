/**
 * How a page is asked for, and what its answer or refusal says: parameters and members of paging.
 */
import { ApiError } from '../../../service/core/api-failure.ts'
import type { ApiResponse, ListItems, QueryParams } from '../../../service/core/api-request.ts'
import { asJsonObject, type Json } from '../../../values/json.ts'
import { type EpochSeconds, rfc3339 } from '../../../values/time.ts'
import { type ListEndpoint, type PagingProfile, pageSizesOf } from './paging-profile.ts'
import { fillMissingTimes, type RowTimes, type TimeBounds } from './sort-order.ts'

export type PageQuery = {
  readonly bounds: TimeBounds
  /** Null: a full page. */
  readonly limit: number | null
  /** Parameters that restrict it to a part of the list. */
  readonly part: QueryParams
}

export type ScanPage = {
  readonly ids: readonly string[]
  readonly times: readonly RowTimes[]
  readonly hasMore: boolean
  /** The earlier of two clocks when the page was requested. No row moves a cursor beyond. */
  readonly cursorLimit: EpochSeconds
}

export type RefusedParameter = 'limit' | 'bound' | 'missing bound' | 'window'

export function toParameters(
  list: ListEndpoint,
  { bounds, limit }: PageQuery,
  { support }: PagingProfile,
): QueryParams {
  const sent: Record<string, string | number> = {}
  if (list.lowerParam !== null && bounds.lower !== undefined)
    sent[list.lowerParam] = rfc3339(bounds.lower)
  if (list.upperParam !== null && bounds.upper !== undefined)
    sent[list.upperParam] = rfc3339(bounds.upper)
  if (support.limit !== 'refused') sent.limit = limit ?? pageSizesOf(list).most
  return sent
}

/** The parameter that a 400 is about; null if it is about something else. */
export function refusedParameter(
  error: unknown,
  list: ListEndpoint,
  profile: PagingProfile,
  sent: QueryParams,
): RefusedParameter | null {
  const failure = error instanceof ApiError ? error.failure : null
  if (failure?.kind !== 'refused' || failure.status !== 400) return null
  const wasSent = (name: string | null) => name === null || sent[name] !== undefined
  const isBounded = Object.keys(sent).some((name) => name !== 'limit')
  if (list.isDocumented) {
    const isMissing = !wasSent(list.lowerParam) || !wasSent(list.upperParam)
    if (isMissing && !profile.requiresBothBounds) return 'missing bound'
    const isWindow = list.lowerParam !== null && list.upperParam !== null && !isMissing
    if (isWindow) return 'window'
    return isBounded ? 'bound' : null
  }
  const isLimitNamed = failure.fields.some((field) => field.toLowerCase().includes('limit'))
  if (sent.limit !== undefined && isLimitNamed) return 'limit'
  if (isBounded) return 'bound'
  return sent.limit !== undefined && profile.support.limit === 'unknown' ? 'limit' : null
}

export function itemsIn<Item extends Json>(data: Item): Item | undefined {
  return Array.isArray(data) ? data : (asJsonObject(data)?.items as Item | undefined)
}

/** A documented list may hold this many times the requested limit; more is not a page. */
const maxPageFactor = 5

/** Throws ApiError if the answer is no page of the list. */
export function requirePage<Item extends Json>(
  list: ListEndpoint,
  { status, requestId }: ApiResponse,
  items: ListItems<Item> | null,
): asserts items is ListItems<Item> {
  if (items === null) {
    const why = `${list.path} answered without a list of items`
    throw new ApiError({ kind: 'transient', why, mayHaveBeenSent: true, status, requestId })
  }
  if (list.isDocumented && items.count > maxPageFactor * pageSizesOf(list).most) {
    const why =
      `${list.path} answered ${items.count} rows, where ` +
      `${pageSizesOf(list).most} at most were asked for`
    throw new ApiError({
      kind: 'refused',
      status,
      code: `http_${status}`,
      why,
      fields: [],
      requestId,
    })
  }
}

export function toScanPage(
  list: ListEndpoint,
  { data, cursorLimit }: ApiResponse,
  items: ListItems,
): ScanPage {
  return { ...collectRows(list, items), hasMore: hasMoreIn(data), cursorLimit }
}

export function hasMoreIn(data: Json | undefined): boolean {
  const hasMore = asJsonObject(data)?.hasMore
  return hasMore === true || hasMore === 'true'
}

function collectRows(list: ListEndpoint, items: ListItems): Pick<ScanPage, 'ids' | 'times'> {
  const page = { ids: [] as string[], times: [] as RowTimes[], rows: [] as Json[] }
  for (const batch of items.batches()) {
    for (const item of batch.items) {
      page.ids.push(list.identify(item))
      page.times.push(list.times(item))
      page.rows.push(items.count > maxPageFactor * pageSizesOf(list).most ? null : item)
    }
    // They were listed, so they count for the size of the page.
    for (const { id, why } of batch.rejectedRows) {
      page.ids.push(id ?? `refused: ${why}`)
      page.times.push(new Map())
      page.rows.push(null)
    }
  }
  const isUnreadableTime = (row: number, field: string) =>
    asJsonObject(page.rows[row])?.[field] != null
  return { ids: page.ids, times: fillMissingTimes(page.times, isUnreadableTime) }
}
