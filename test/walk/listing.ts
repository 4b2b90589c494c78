/** A list of a service, reduced to what paging can see: every way in which the documentation leaves it open. */
import type { Answer, Get, Query } from '../../src/core/call.ts'
import { CallFailed } from '../../src/core/failure.ts'
import type { Json } from '../../src/core/row.ts'
import { moment, rfc3339 } from '../../src/core/time.ts'
import type { List } from '../../src/core/walk/list.ts'

export type Item = { readonly id: string; readonly at: number; readonly other: number; readonly part: boolean }

export type Manners = {
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

export const plain: Manners = {
  lower: 'inclusive',
  upper: 'inclusive',
  from: 'oldest',
  shown: 'as taken',
  hasMore: 'exact',
  limit: 'honoured',
  fraction: false,
  everything: false,
}

export const list = (bounds: {
  lower?: string
  upper?: string
  documented?: boolean
  parts?: readonly Query[]
}): List => ({
  name: 'things',
  path: '/things',
  query: {},
  lower: bounds.lower ?? null,
  upper: bounds.upper ?? null,
  documented: bounds.documented ?? true,
  parts: bounds.parts ?? [],
  identify: (item) => String((item as { id: string }).id),
  times: (item) => {
    const { at, other } = item as { at: string; other: string }
    return new Map([
      ['at', moment(at) ?? 0],
      ['other', moment(other) ?? 0],
    ])
  },
})

/** The list as a function of a request, and the number of requests so far. `meanwhile`: what happens after each of them. */
export function serve(
  items: readonly Item[],
  manners: Manners,
  of: List,
  meanwhile: (request: number) => void = () => {},
): { get: Get; requests: () => number } {
  let requests = 0
  const get: Get = async (_path, query) => {
    requests++
    if (requests > 2000) throw new Error('the walk does not end')
    const data = page(items, manners, of, query)
    meanwhile(requests)
    return answer(data)
  }
  return { get, requests: () => requests }
}

function page(items: readonly Item[], manners: Manners, of: List, query: Query): Json {
  const lower = bound(query, of.lower, manners.lower)
  const upper = bound(query, of.upper, manners.upper)
  if (query.limit !== undefined && manners.limit === 'refused') throw refuse('limit')
  const least = manners.lower === 'exclusive' ? 0.1 : 0
  const time = ({ at, id }: Item) => at + (manners.fraction ? least + (Number(id.slice(-6)) % 4) / 5 : 0)
  const fits = items.filter(
    (item) =>
      (lower === null || (manners.lower === 'exclusive' ? time(item) > lower : time(item) >= lower)) &&
      (upper === null || (manners.upper === 'exclusive' ? time(item) < upper : time(item) <= upper)) &&
      (query.part === undefined || item.part === query.part),
  )
  fits.sort((a, b) => time(a) - time(b) || a.id.localeCompare(b.id))
  const end = lower === null && upper === null ? (manners.unbounded ?? manners.from) : manners.from
  if (end === 'newest') fits.reverse()
  const size = manners.everything ? fits.length : manners.limit === 'honoured' ? Number(query.limit ?? 50) : 50
  const taken = fits.slice(0, size)
  if (manners.shown === 'reversed') taken.reverse()
  const claims = { exact: fits.length > size, 'page is full': taken.length === size, always: true }
  return {
    items: taken.map(({ at, other, ...rest }) => ({ ...rest, at: rfc3339(at), other: rfc3339(other) })),
    hasMore: claims[manners.hasMore],
  }
}

function bound(query: Query, name: string | null, manner: Manners['lower']): number | null {
  const value = name === null ? undefined : query[name]
  if (value === undefined || name === null || manner === 'ignored') return null
  if (manner === 'refused') throw refuse(name)
  return moment(value) ?? null
}

function refuse(field: string): CallFailed {
  const why = `${field} is not known`
  return new CallFailed({
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

function answer(data: Json): Answer {
  return { data, status: 200, requestId: null, servedAt: null, horizon: farAhead, askedAt: 0 }
}
