/** A list of a service, reduced to what paging can see: every way in which the documentation leaves it open. */

import { ApiError } from '../../../src/core/api-failure.ts'
import type { ApiGet, ApiResponse, QueryParams } from '../../../src/core/api-request.ts'
import type { ListEndpoint } from '../../../src/core/pagination/list-endpoint.ts'
import type { Json } from '../../../src/core/row.ts'
import { parseTime, rfc3339 } from '../../../src/core/time.ts'

export type Item = { readonly id: string; readonly at: number; readonly other: number; readonly part: boolean }

export type ListBehaviour = {
  readonly lower: 'inclusive' | 'exclusive' | 'ignored' | 'refused'
  readonly upper: 'inclusive' | 'exclusive' | 'ignored' | 'refused'
  /** Which end a page is taken from where the bounds leave more than a page. */
  readonly from: 'oldest' | 'newest'
  /** The same where no bound is given, if that is another end. */
  readonly unbounded?: 'oldest' | 'newest'
  /** How the rows of a page are shown. */
  readonly shown: 'as taken' | 'reversed'
  readonly hasMore: 'exact' | 'page is full' | 'always'
  readonly limit: 'honoured' | 'ignored' | 'refused'
  /**
   * Fractions of a second are hidden behind the stamps, and bounds compare with them. None is nil where a lower bound would
   * exclude it: behind a crowded second nobody could ask for it.
   */
  readonly fraction: boolean
  readonly everything: boolean
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
    return new Map([
      ['at', parseTime(at) ?? 0],
      ['other', parseTime(other) ?? 0],
    ])
  },
})

/** The list as a function of a request, and the number of requests so far. `meanwhile`: what happens after each of them. */
export function serveList(
  items: readonly Item[],
  manners: ListBehaviour,
  endpoint: ListEndpoint,
  meanwhile: (request: number) => void = () => {},
): { get: ApiGet; requests: () => number } {
  let requests = 0
  const get: ApiGet = async (_path, query) => {
    requests++
    if (requests > 2000) throw new Error('the walk does not end')
    const data = servePage(items, manners, endpoint, query)
    meanwhile(requests)
    return toResponse(data)
  }
  return { get, requests: () => requests }
}

function servePage(items: readonly Item[], manners: ListBehaviour, endpoint: ListEndpoint, query: QueryParams): Json {
  const lower = boundOf(query, endpoint.lowerParam, manners.lower)
  const upper = boundOf(query, endpoint.upperParam, manners.upper)
  if (query.limit !== undefined && manners.limit === 'refused') throw parameterRefused('limit')
  const least = manners.lower === 'exclusive' ? 0.1 : 0
  const time = ({ at, id }: Item) => at + (manners.fraction ? least + (Number(id.slice(-6)) % 4) / 5 : 0)
  const matching = items.filter(
    (item) =>
      (lower === null || (manners.lower === 'exclusive' ? time(item) > lower : time(item) >= lower)) &&
      (upper === null || (manners.upper === 'exclusive' ? time(item) < upper : time(item) <= upper)) &&
      (query.part === undefined || item.part === query.part),
  )
  matching.sort((a, b) => time(a) - time(b) || a.id.localeCompare(b.id))
  const end = lower === null && upper === null ? (manners.unbounded ?? manners.from) : manners.from
  if (end === 'newest') matching.reverse()
  const size = manners.everything ? matching.length : manners.limit === 'honoured' ? Number(query.limit ?? 50) : 50
  const taken = matching.slice(0, size)
  if (manners.shown === 'reversed') taken.reverse()
  const hasMoreBy = { exact: matching.length > size, 'page is full': taken.length === size, always: true }
  return {
    items: taken.map(({ at, other, ...rest }) => ({ ...rest, at: rfc3339(at), other: rfc3339(other) })),
    hasMore: hasMoreBy[manners.hasMore],
  }
}

function boundOf(query: QueryParams, name: string | null, manner: ListBehaviour['lower']): number | null {
  const value = name === null ? undefined : query[name]
  if (value === undefined || name === null || manner === 'ignored') return null
  if (manner === 'refused') throw parameterRefused(name)
  return parseTime(value) ?? null
}

function parameterRefused(field: string): ApiError {
  const why = `${field} is not known`
  return new ApiError({
    kind: 'refused',
    status: 400,
    code: 'VALIDATION_ERROR',
    why,
    fields: [field],
    requestId: null,
  })
}

/** Clocks that no row is ahead of. */
const farAhead = 9_999_999_999

function toResponse(data: Json): ApiResponse {
  return { data, status: 200, requestId: null, servedAt: null, cursorLimit: farAhead, askedAt: 0 }
}
