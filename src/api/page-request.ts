/** Requests one page of a list, and parses its response. */
import { ApiError } from '../core/api-failure.ts'
import type { ApiGet, ApiResponse, ListItems, QueryParams } from '../core/api-request.ts'
import { asJsonObject } from '../core/json.ts'
import { type ListEndpoint, pageSizesOf } from '../core/pagination/list-endpoint.ts'
import { fillMissingTimes } from '../core/pagination/missing-times.ts'
import type { ScanPage } from '../core/pagination/page-evidence.ts'
import type { PagingProfile } from '../core/pagination/paging-profile.ts'
import type { PageRequest, RefusedParameter } from '../core/pagination/reading.ts'
import type { RowTimes } from '../core/pagination/sort-order.ts'
import type { Priority } from '../core/rate-limit/priority.ts'
import type { Json } from '../core/row.ts'
import { rfc3339 } from '../core/time.ts'
import { toItems } from './items.ts'

/** A page with its rows, or the parameter that the service refuses. */
export type PageReply =
  | { readonly kind: 'page'; readonly page: ScanPage; readonly items: ListItems; readonly response: ApiResponse }
  | { readonly kind: 'refused'; readonly parameter: RefusedParameter; readonly error: unknown }

/** Requests one page. Throws ApiError. */
export async function requestPage(
  get: ApiGet,
  list: ListEndpoint,
  { bounds, limit, part, progress: { profile } }: PageRequest,
  priority: Priority,
): Promise<PageReply> {
  const sent: Record<string, string | number> = {}
  if (list.lowerParam !== null && bounds.lower !== undefined) sent[list.lowerParam] = rfc3339(bounds.lower)
  if (list.upperParam !== null && bounds.upper !== undefined) sent[list.upperParam] = rfc3339(bounds.upper)
  if (profile.support.limit !== 'refused') sent.limit = limit ?? pageSizesOf(list).most
  try {
    const response = await get(list.path, { ...list.query, ...part, ...sent }, priority)
    return { kind: 'page', ...parsePage(list, response), response }
  } catch (error) {
    const parameter = refusedParameter(error, list, profile, sent)
    if (parameter === null) throw error
    return { kind: 'refused', parameter, error }
  }
}

/** The parameter that a 400 is about; null if it is about something else. */
function refusedParameter(error: unknown, list: ListEndpoint, profile: PagingProfile, sent: QueryParams) {
  const failure = error instanceof ApiError ? error.failure : null
  if (failure?.kind !== 'refused' || failure.status !== 400) return null
  const wasSent = (name: string | null) => name === null || sent[name] !== undefined
  const isBounded = Object.keys(sent).some((name) => name !== 'limit')
  if (list.isDocumented) {
    const isMissing = !wasSent(list.lowerParam) || !wasSent(list.upperParam)
    if (isMissing && !profile.requiresBothBounds) return 'missing bound'
    return isBounded ? 'bound' : null
  }
  const isLimitNamed = failure.fields.some((field) => field.toLowerCase().includes('limit'))
  if (sent.limit !== undefined && isLimitNamed) return 'limit'
  if (isBounded) return 'bound'
  return sent.limit !== undefined && profile.support.limit === 'unknown' ? 'limit' : null
}

/** A documented list may hold this many times the requested limit; more is not a page. */
const maxPageFactor = 5

function parsePage(list: ListEndpoint, response: ApiResponse): { page: ScanPage; items: ListItems } {
  const { data, status, requestId } = response
  const body = asJsonObject(data) ?? {}
  const items = response.items ?? toItems(Array.isArray(data) ? data : body.items)
  if (items === null) {
    const why = `${list.path} answered without a list of items`
    throw new ApiError({ kind: 'transient', why, mayHaveBeenSent: true, status, requestId })
  }
  if (list.isDocumented && items.count > maxPageFactor * pageSizesOf(list).most) {
    const why = `${list.path} answered ${items.count} rows, where ${pageSizesOf(list).most} at most were asked for`
    throw new ApiError({ kind: 'refused', status, code: `http_${status}`, why, fields: [], requestId })
  }
  const { cursorLimit } = response
  return { page: { ...collectRows(list, items), hasMore: body.hasMore === true, cursorLimit }, items }
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
  const isUnreadableTime = (row: number, field: string) => asJsonObject(page.rows[row])?.[field] != null
  return { ids: page.ids, times: fillMissingTimes(page.times, isUnreadableTime) }
}
