/** A simulated list with every paging behaviour that the documentation leaves open. */

import type { ListEndpoint } from '../../../../src/mirror/core/pagination/paging-profile.ts'
import { ApiError } from '../../../../src/service/core/api-failure.ts'
import type { ApiGet, ApiResponse, QueryParams } from '../../../../src/service/core/api-request.ts'
import type { Json } from '../../../../src/values/json.ts'
import { parseTime, rfc3339 } from '../../../../src/values/time.ts'

export type ListItem = {
  readonly id: string
  readonly at: number
  readonly other: number
  readonly part: boolean
}

export type ListBehaviour = {
  readonly lower: 'inclusive' | 'exclusive' | 'ignored' | 'refused'
  readonly upper: 'inclusive' | 'exclusive' | 'ignored' | 'refused'
  /** The end from which a page is taken if more than a page matches. */
  readonly from: 'oldest' | 'newest'
  /** The same for requests without a bound, if it differs. */
  readonly unbounded?: 'oldest' | 'newest'
  /** How the rows of a page are shown. */
  readonly shown: 'as taken' | 'reversed'
  readonly hasMore: 'exact' | 'page is full' | 'always' | 'never'
  readonly limit: 'honoured' | 'ignored' | 'refused'
  /** The most rows in a page, whatever `limit` says. */
  readonly pageSize?: number
  /**
   * Rows have hidden fractions of a second, and bounds compare with them. With an exclusive lower
   * bound no fraction is 0, because no request could reach such a row after a timestamp collision.
   */
  readonly fraction: boolean
  readonly everything: boolean
  /** Bounds compare the other time, which does not sort the list. */
  readonly boundsCompareOther?: boolean
  /** Beside an upper bound, the lower one is ignored. */
  readonly takesOneBound?: boolean
  /** Without a lower bound, only rows since then are shown. */
  readonly since?: number
}

export const plainBehaviour: ListBehaviour = {
  lower: 'inclusive',
  upper: 'inclusive',
  from: 'oldest',
  shown: 'as taken',
  hasMore: 'exact',
  limit: 'honoured',
  fraction: false,
  everything: false,
}

export const listEndpoint = (bounds: {
  lower?: string
  upper?: string
  documented?: boolean
  parts?: readonly QueryParams[]
}): ListEndpoint => ({
  name: 'things',
  path: '/things',
  query: {},
  lowerParam: bounds.lower ?? null,
  upperParam: bounds.upper ?? null,
  isDocumented: bounds.documented ?? true,
  partitions: bounds.parts ?? [],
  identify: (item) => String((item as { id: string }).id),
  times: (item) => {
    const { at, other } = item as { at: string; other: string }
    return new Map(Object.entries({ at: parseTime(at) ?? 0, other: parseTime(other) ?? 0 }))
  },
})

/**
 * The list as an `ApiGet`, and the number of requests so far. `meanwhile` is called after each
 * request.
 */
export function serveList(
  items: readonly ListItem[],
  behaviour: ListBehaviour,
  endpoint: ListEndpoint,
  meanwhile: (request: number) => void = () => {},
): { get: ApiGet; requests: () => number } {
  let requests = 0
  const get: ApiGet = async (_path, query) => {
    requests++
    if (requests > 2000) throw new Error('the scan does not end')
    const data = servePage(items, behaviour, endpoint, query)
    meanwhile(requests)
    return toResponse(data)
  }
  return { get, requests: () => requests }
}

function servePage(
  items: readonly ListItem[],
  behaviour: ListBehaviour,
  endpoint: ListEndpoint,
  query: QueryParams,
): Json {
  const upper = boundOf(query, endpoint.upperParam, behaviour.upper)
  const isLowerTaken = upper === null || behaviour.takesOneBound !== true
  const lower = isLowerTaken ? boundOf(query, endpoint.lowerParam, behaviour.lower) : null
  if (query.limit !== undefined && behaviour.limit === 'refused') throw parameterRefused('limit')
  const least = behaviour.lower === 'exclusive' ? 0.1 : 0
  const time = ({ at, id }: ListItem) =>
    at + (behaviour.fraction ? least + (Number(id.slice(-6)) % 4) / 5 : 0)
  const compared = (item: ListItem) => (behaviour.boundsCompareOther ? item.other : time(item))
  const matching = items.filter(
    (item) =>
      (lower !== null || time(item) >= (behaviour.since ?? 0)) &&
      (lower === null ||
        (behaviour.lower === 'exclusive' ? compared(item) > lower : compared(item) >= lower)) &&
      (upper === null ||
        (behaviour.upper === 'exclusive' ? compared(item) < upper : compared(item) <= upper)) &&
      (query.part === undefined || item.part === query.part),
  )
  matching.sort((a, b) => time(a) - time(b) || a.id.localeCompare(b.id))
  const end =
    lower === null && upper === null ? (behaviour.unbounded ?? behaviour.from) : behaviour.from
  if (end === 'newest') matching.reverse()
  const honoured = behaviour.limit === 'honoured' ? Number(query.limit ?? 50) : 50
  const size = behaviour.everything
    ? matching.length
    : Math.min(honoured, behaviour.pageSize ?? honoured)
  const taken = matching.slice(0, size)
  if (behaviour.shown === 'reversed') taken.reverse()
  const hasMoreBy = {
    exact: matching.length > size,
    'page is full': taken.length === size,
    always: true,
    never: false,
  }
  return {
    items: taken.map(({ at, other, ...rest }) => ({
      ...rest,
      at: rfc3339(at),
      other: rfc3339(other),
    })),
    hasMore: hasMoreBy[behaviour.hasMore],
  }
}

function boundOf(
  query: QueryParams,
  name: string | null,
  support: ListBehaviour['lower'],
): number | null {
  const value = name === null ? undefined : query[name]
  if (value === undefined || name === null || support === 'ignored') return null
  if (support === 'refused') throw parameterRefused(name)
  return parseTime(value) ?? null
}

export function parameterRefused(field: string): ApiError {
  const [code, why] = ['VALIDATION_ERROR', `${field} is not known`]
  return new ApiError({ kind: 'refused', status: 400, code, why, fields: [field], requestId: null })
}

/** Clocks that no row is ahead of. */
const farAhead = 9_999_999_999

function toResponse(data: Json): ApiResponse {
  return {
    data,
    status: 200,
    requestId: null,
    serverDate: null,
    cursorLimit: farAhead,
    requestedAt: 0,
  }
}
