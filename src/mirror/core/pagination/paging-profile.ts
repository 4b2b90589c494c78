/**
 * The observed paging behaviour of one list, and its stored form in `service_behaviours`. Any part may be unknown: a scan
 * is correct without it, and needs fewer requests with it.
 */
import type { ServiceBehaviour } from '../../../../schema/row.ts'
import type { QueryParams } from '../../../service/core/api-request.ts'
import type { Json } from '../../../values/json.ts'
import type { RowTimes, SortOrder } from './sort-order.ts'

/** `forward`: the pages begin with the oldest rows; `backward`: with the newest. */
export type ScanDirection = 'forward' | 'backward'

export type Bound = 'lower' | 'upper'

export type ListEnd = 'oldest' | 'newest'

/**
 * The bounds that a request has for its own sake: paging forward moves the lower one, paging backward the upper one. A
 * service may begin at another end with each of them: the newest rows without bounds, the oldest ones with `since`.
 */
export type Shape = 'unbounded' | Bound

/** The time bound that a scan in this direction moves from page to page. */
export function boundOf(direction: ScanDirection): Bound {
  return direction === 'forward' ? 'lower' : 'upper'
}

/** How the service treats a parameter. `absent`: the list has none. */
export type Support = 'honoured' | 'ignored' | 'refused' | 'absent' | 'unknown'

export type PagingProfile = {
  readonly order: SortOrder | null
  /** Pages have shown their rows in both directions, so the direction of a page says nothing about the next one. */
  readonly hasMixedOrder: boolean
  /** The end of the list from which a page is taken if more rows match than it holds; null = not proven. */
  readonly ends: Readonly<Record<Shape, ListEnd | null>>
  /** Whether a bound includes its own second; null = unknown. */
  readonly inclusiveBounds: { readonly lower: boolean | null; readonly upper: boolean | null }
  readonly support: { readonly lower: Support; readonly upper: Support; readonly limit: Support }
  /**
   * Whether `hasMore` of a short page is reliable: true once a page with rows came without it, false if nothing followed a
   * short page that had it, null = unknown. Every reconcile resets false.
   */
  readonly isHasMoreReliableIfShort: boolean | null
  /** A page had `hasMore` set, so the service sets it at all. */
  readonly setsHasMore: boolean
  /** The service requires both bounds in every request. */
  readonly requiresBothBounds: boolean
  /** The largest page seen: the size of a full page if the service ignores `limit`. */
  readonly largestPage: number
}

/** The profile before the first page. */
export function emptyProfile(list: ListEndpoint): PagingProfile {
  const limit: Support = list.isDocumented ? 'honoured' : 'unknown'
  const bound = (name: string | null): Support => (name === null ? 'absent' : limit)
  return {
    order: null,
    hasMixedOrder: false,
    ends: unknownEnds,
    inclusiveBounds: { lower: null, upper: null },
    support: { lower: bound(list.lowerParam), upper: bound(list.upperParam), limit },
    isHasMoreReliableIfShort: null,
    setsHasMore: false,
    requiresBothBounds: false,
    largestPage: pageSizesOf(list).usual,
  }
}

const unknownEnds: PagingProfile['ends'] = { unbounded: null, lower: null, upper: null }

const mixedOrderText = 'both ways'
const bothBoundsText = 'both required'

/** The facts that differ from `before`, as rows for `service_behaviours`. */
export function toObservations(list: ListEndpoint, before: PagingProfile, now: PagingProfile, evidence: string) {
  const previous = new Map(encodeProfile(list, before))
  const changed = encodeProfile(list, now).filter(([name, value]) => previous.get(name) !== value)
  return changed.map(([name, value]): ServiceBehaviour => ({ name: `${list.name}.${name}`, value, evidence }))
}

/** The facts that are to be learned again, as rows whose value is unknown. */
export function toForgotten(list: ListEndpoint, before: PagingProfile, now: PagingProfile): ServiceBehaviour[] {
  const kept = new Map(encodeProfile(list, now))
  const forgotten = encodeProfile(list, before).filter(([name]) => !kept.has(name))
  const evidence = 'a reconcile learns it again'
  return forgotten.map(([name]) => ({ name: `${list.name}.${name}`, value: unknownValue, evidence }))
}

/** Decoded as any other unreadable value. */
export const unknownValue = 'unknown'

function encodeProfile(list: ListEndpoint, profile: PagingProfile): [string, string][] {
  const { order, ends, inclusiveBounds, support, isHasMoreReliableIfShort, largestPage } = profile
  const directionText = profile.hasMixedOrder ? mixedOrderText : (order?.direction ?? 'unknown way')
  const assumed = list.isDocumented ? 'honoured' : 'unknown'
  const supportText = (value: Support) => (value === 'unknown' || value === assumed ? null : value)
  const facts: [name: string | null, value: string | boolean | null][] = [
    ['order', order && `${directionText} by ${order.fields.join(' or ')}`],
    ...shapes.map((shape): [string | null, string | null] => [pagesFact(list, shape), encodeEnd(ends[shape])]),
    [list.lowerParam && `${list.lowerParam}_includes`, inclusiveBounds.lower],
    [list.upperParam && `${list.upperParam}_includes`, inclusiveBounds.upper],
    [
      'has_more',
      isHasMoreReliableIfShort === null ? null : hasMoreTexts[isHasMoreReliableIfShort ? 'reliable' : 'unreliable'],
    ],
    ['has_more_set', profile.setsHasMore || null],
    ['bounds', profile.requiresBothBounds ? bothBoundsText : null],
    ['page_size', largestPage === pageSizesOf(list).usual ? null : String(largestPage)],
    [list.lowerParam, supportText(support.lower)],
    [list.upperParam, supportText(support.upper)],
    ['limit', supportText(support.limit)],
  ]
  return facts.flatMap(([name, value]) => (name === null || value === null ? [] : [[name, String(value)]]))
}

const shapes = ['unbounded', 'lower', 'upper'] as const satisfies readonly Shape[]

/** The name of the fact: `pages`, `since_pages`, `before_pages`; null = the list has no such bound. */
function pagesFact({ lowerParam, upperParam }: ListEndpoint, shape: Shape): string | null {
  if (shape === 'unbounded') return 'pages'
  const param = shape === 'lower' ? lowerParam : upperParam
  return param === null ? null : `${param}_pages`
}

function encodeEnd(end: ListEnd | null): string | null {
  return end === null ? null : `${end} first`
}

function decodeEnd(text: string | undefined): ListEnd | null {
  return text === 'oldest first' ? 'oldest' : text === 'newest first' ? 'newest' : null
}

/** The stored profile of earlier runs. An unreadable value counts as unknown. */
export function decodeProfile(list: ListEndpoint, behaviours: ReadonlyMap<string, string>): PagingProfile {
  const empty = emptyProfile(list)
  const stored = (name: string | null) => (name === null ? undefined : behaviours.get(`${list.name}.${name}`))
  const supportOf = (name: string | null, otherwise: Support) => parseSupport(stored(name)) ?? otherwise
  const size = Number(stored('page_size'))
  return {
    order: parseOrder(stored('order')),
    hasMixedOrder: stored('order')?.startsWith(mixedOrderText) ?? false,
    ends: {
      unbounded: decodeEnd(stored('pages')),
      lower: decodeEnd(stored(pagesFact(list, 'lower'))),
      upper: decodeEnd(stored(pagesFact(list, 'upper'))),
    },
    inclusiveBounds: {
      lower: parseBoolean(stored(list.lowerParam && `${list.lowerParam}_includes`)),
      upper: parseBoolean(stored(list.upperParam && `${list.upperParam}_includes`)),
    },
    support: {
      lower: supportOf(list.lowerParam, empty.support.lower),
      upper: supportOf(list.upperParam, empty.support.upper),
      limit: supportOf('limit', empty.support.limit),
    },
    isHasMoreReliableIfShort: decodeHasMore(stored('has_more')),
    setsHasMore: stored('has_more_set') === 'true',
    requiresBothBounds: stored('bounds') === bothBoundsText,
    largestPage: Number.isInteger(size) && size > 0 ? size : empty.largestPage,
  }
}

const hasMoreTexts = { reliable: 'exact', unreliable: 'not exact' } as const

function decodeHasMore(text: string | undefined): boolean | null {
  return text === hasMoreTexts.reliable ? true : text === hasMoreTexts.unreliable ? false : null
}

/** Some list of the service is known to set `hasMore` on its last page. */
export function isHasMoreKnownUnreliable(behaviours: ReadonlyMap<string, string>): boolean {
  return [...behaviours].some(([name, value]) => name.endsWith('.has_more') && decodeHasMore(value) === false)
}

function parseOrder(text: string | undefined): SortOrder | null {
  const [, way, fields] = /^(ascending|descending|unknown way|both ways) by (.+)$/.exec(text ?? '') ?? []
  if (way === undefined || fields === undefined) return null
  return { direction: way === 'ascending' || way === 'descending' ? way : null, fields: fields.split(' or ') }
}

function parseBoolean(text: string | undefined): boolean | null {
  return text === 'true' ? true : text === 'false' ? false : null
}

function parseSupport(text: string | undefined): Support | undefined {
  return text === 'honoured' || text === 'ignored' || text === 'refused' ? text : undefined
}

/**
 * A stored fact was replaced by a contradicting one, not only refined: the service changed, or the earlier observation was
 * wrong.
 */
export function isBehaviourChange(before: string, now: string): boolean {
  const [was, is] = [parseOrder(before), parseOrder(now)]
  if (was === null || is === null) return before !== now && !/^\d+$/.test(before)
  const isOtherDirection = is.direction !== null && was.direction !== is.direction
  if (was.direction !== null && (now.startsWith(mixedOrderText) || isOtherDirection)) return true
  return is.fields.some((field) => !was.fields.includes(field))
}

/** The profile without what a wrong observation could cost rows by, so that it is learned again. */
export function resetUnsupported(list: ListEndpoint, profile: PagingProfile): PagingProfile {
  return {
    ...profile,
    order: null,
    ends: unknownEnds,
    support: emptyProfile(list).support,
    requiresBothBounds: false,
    isHasMoreReliableIfShort: profile.isHasMoreReliableIfShort || null,
  }
}

/** Merges the profiles of two concurrent scans of one list; `later` wins if both know a value. */
export function mergeProfiles(shared: PagingProfile, later: PagingProfile): PagingProfile {
  const supportOf = (parameter: Bound | 'limit') =>
    later.support[parameter] === 'unknown' ? shared.support[parameter] : later.support[parameter]
  const endOf = (shape: Shape) => later.ends[shape] ?? shared.ends[shape]
  return {
    order: later.order ?? shared.order,
    hasMixedOrder: later.hasMixedOrder || shared.hasMixedOrder,
    ends: { unbounded: endOf('unbounded'), lower: endOf('lower'), upper: endOf('upper') },
    inclusiveBounds: {
      lower: later.inclusiveBounds.lower ?? shared.inclusiveBounds.lower,
      upper: later.inclusiveBounds.upper ?? shared.inclusiveBounds.upper,
    },
    support: { lower: supportOf('lower'), upper: supportOf('upper'), limit: supportOf('limit') },
    isHasMoreReliableIfShort:
      shared.isHasMoreReliableIfShort || (later.isHasMoreReliableIfShort ?? shared.isHasMoreReliableIfShort),
    setsHasMore: later.setsHasMore || shared.setsHasMore,
    requiresBothBounds: later.requiresBothBounds || shared.requiresBothBounds,
    largestPage: Math.max(later.largestPage, shared.largestPage),
  }
}

export type ListEndpoint = {
  /** Prefix of its behaviours in `service_behaviours`: `conversations`. */
  readonly name: string
  readonly path: string
  /** Parameters of every request besides paging: `{ handled: false }`. */
  readonly query: QueryParams
  /** The parameter of the lower time bound: `since`, `from`; null = none. */
  readonly lowerParam: string | null
  /** The parameter of the upper time bound: `to`, `before`; null = none. */
  readonly upperParam: string | null
  /** Whether the bounds and `limit` are documented. Undocumented ones are tried, and dropped if refused or ignored. */
  readonly isDocumented: boolean
  /** Parameters that split the list into parts, to read a second with more rows than a page. */
  readonly partitions: readonly QueryParams[]
  /** Other page sizes than documented, for tests with small lists. */
  readonly pageSizes?: PageSizes
  /** Identifies an item across pages. */
  readonly identify: (item: Json) => string
  readonly times: (item: Json) => RowTimes
}

/** `most`: the largest page, which is requested. `usual`: the size of a page if `limit` is not sent or ignored. */
type PageSizes = { readonly most: number; readonly usual: number }

/** The service's documentation: "1 to 200, default 50". */
export const documentedPageSizes: PageSizes = { most: 200, usual: 50 }

export function pageSizesOf({ pageSizes }: ListEndpoint): PageSizes {
  return pageSizes ?? documentedPageSizes
}
