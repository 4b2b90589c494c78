/**
 * The observed paging behaviour of a list, and its stored form in `service_behaviours`. Any part
 * may be unknown: a scan is correct without it, and needs fewer requests with it.
 */
import type { ServiceBehaviour } from '../../../../schema/row.ts'
import type { QueryParams } from '../../../service/core/api-request.ts'
import type { Json } from '../../../values/json.ts'
import type { Seconds } from '../../../values/time.ts'
import type { RowTimes, ScanDirection, SortOrder } from './sort-order.ts'

/** From the lower end of a range, from its upper end, or without bounds. */
export type Move = ScanDirection | 'unbounded'

export type Bound = 'lower' | 'upper'

export function boundOf(direction: ScanDirection): Bound {
  return direction === 'forward' ? 'lower' : 'upper'
}

/** How the service treats a parameter. `absent`: the list has none. */
export type Support = 'honoured' | 'ignored' | 'refused' | 'absent' | 'unknown'

export type PagingProfile = {
  readonly order: SortOrder | null
  /** Pages have shown both directions, so one says nothing about the next. */
  readonly hasMixedOrder: boolean
  /**
   * From which end of the list a cut page is taken; null = not proven. It may be another end with
   * each move: the newest rows without bounds, the oldest ones with `since`.
   */
  readonly ways: Readonly<Record<Move, ScanDirection | null>>
  /** Whether a bound includes its own second; null = unknown. */
  readonly inclusiveBounds: { readonly lower: boolean | null; readonly upper: boolean | null }
  readonly support: { readonly lower: Support; readonly upper: Support; readonly limit: Support }
  /**
   * True once a page with rows came without it, false if nothing followed a short page that had it,
   * null = unknown. Every reconcile resets false.
   */
  readonly isHasMoreReliableIfShort: boolean | null
  readonly setsHasMore: boolean
  /** Also on pages of as many rows as were asked for, so smaller pages are not cut. */
  readonly setsHasMoreIfFull: boolean
  readonly requiresBothBounds: boolean
  /**
   * The largest page behind which a test found nothing: smaller ones are not tested. Every
   * reconcile resets it.
   */
  readonly largestPage: number
  /**
   * Pages end at so many rows although `hasMore` is not set; null = not suspected, 0 = a longer one
   * has refuted it.
   */
  readonly listedAtMost: number | null
  /** How far apart the bounds of a request may be; null = not known to be limited. */
  readonly widestWindow: Seconds | null
}

export function emptyProfile(list: ListEndpoint): PagingProfile {
  const limit: Support = list.isDocumented ? 'honoured' : 'unknown'
  const bound = (name: string | null): Support => (name === null ? 'absent' : limit)
  return {
    order: null,
    hasMixedOrder: false,
    ways: unknownWays,
    inclusiveBounds: { lower: null, upper: null },
    support: { lower: bound(list.lowerParam), upper: bound(list.upperParam), limit },
    isHasMoreReliableIfShort: null,
    setsHasMore: false,
    setsHasMoreIfFull: false,
    requiresBothBounds: false,
    largestPage: 0,
    listedAtMost: null,
    widestWindow: null,
  }
}

const unknownWays: PagingProfile['ways'] = { unbounded: null, forward: null, backward: null }

const mixedOrderText = 'both ways'
const bothBoundsText = 'both required'
const noLimitText = 'any number'

/** The facts that differ from `before`, as rows for `service_behaviours`. */
export function toObservations(
  list: ListEndpoint,
  before: PagingProfile,
  now: PagingProfile,
  evidence: string,
) {
  const previous = new Map(encodeProfile(list, before))
  const changed = encodeProfile(list, now).filter(([name, value]) => previous.get(name) !== value)
  return changed.map(
    ([name, value]): ServiceBehaviour => ({ name: `${list.name}.${name}`, value, evidence }),
  )
}

export function toForgotten(
  list: ListEndpoint,
  before: PagingProfile,
  now: PagingProfile,
): ServiceBehaviour[] {
  const kept = new Map(encodeProfile(list, now))
  const forgotten = encodeProfile(list, before).filter(([name]) => !kept.has(name))
  const evidence = 'a reconcile learns it again'
  return forgotten.map(([name]) => ({
    name: `${list.name}.${name}`,
    value: unknownValue,
    evidence,
  }))
}

/** Decoded as any other unreadable value. */
export const unknownValue = 'unknown'

/** The values of a fact, and in the same order the texts that stand for them. */
type Coding<Value> = {
  readonly values: readonly (Value | null)[]
  readonly texts: readonly string[]
}
const ways: Coding<ScanDirection> = {
  values: ['forward', 'backward'],
  texts: ['oldest first', 'newest first'],
}
const hasMore: Coding<boolean> = { values: [true, false], texts: ['exact', 'not exact'] }
const inclusive: Coding<boolean> = { values: [true, false], texts: ['true', 'false'] }
const knownSupport = ['honoured', 'ignored', 'refused'] as const

function encode<Value>({ values, texts }: Coding<Value>, value: Value | null): string | null {
  return texts[values.indexOf(value)] ?? null
}

function decode<Value>({ values, texts }: Coding<Value>, text: string | undefined): Value | null {
  return values[texts.indexOf(text ?? '')] ?? null
}

const fullText = 'on full pages'

function encodeProfile(list: ListEndpoint, profile: PagingProfile): [string, string][] {
  const { order, inclusiveBounds, support, largestPage, listedAtMost, widestWindow } = profile
  const directionText = profile.hasMixedOrder ? mixedOrderText : (order?.direction ?? 'unknown way')
  const assumed = list.isDocumented ? 'honoured' : 'unknown'
  const supportText = (value: Support) => (value === 'unknown' || value === assumed ? null : value)
  const facts: [name: string | null, value: string | null][] = [
    ['order', order && `${directionText} by ${order.fields.join(' or ')}`],
    ['pages', encode(ways, profile.ways.unbounded)],
    [list.lowerParam && `${list.lowerParam}_pages`, encode(ways, profile.ways.forward)],
    [list.upperParam && `${list.upperParam}_pages`, encode(ways, profile.ways.backward)],
    [list.lowerParam && `${list.lowerParam}_includes`, encode(inclusive, inclusiveBounds.lower)],
    [list.upperParam && `${list.upperParam}_includes`, encode(inclusive, inclusiveBounds.upper)],
    ['has_more', encode(hasMore, profile.isHasMoreReliableIfShort)],
    ['has_more_set', profile.setsHasMoreIfFull ? fullText : profile.setsHasMore ? 'true' : null],
    ['bounds', profile.requiresBothBounds ? bothBoundsText : null],
    ['page_size', largestPage === 0 ? null : String(largestPage)],
    ['listed_at_most', listedAtMostText(listedAtMost)],
    ['window', widestWindow === null ? null : String(widestWindow)],
    [list.lowerParam, supportText(support.lower)],
    [list.upperParam, supportText(support.upper)],
    ['limit', supportText(support.limit)],
  ]
  return facts.flatMap(([name, value]) => (name === null || value === null ? [] : [[name, value]]))
}

export function listedAtMostText(most: PagingProfile['listedAtMost']): string | null {
  return most === null ? null : most === 0 ? noLimitText : String(most)
}

/** An unreadable value counts as unknown. */
export function decodeProfile(
  list: ListEndpoint,
  behaviours: ReadonlyMap<string, string>,
): PagingProfile {
  const empty = emptyProfile(list)
  const stored = (name: string | null) =>
    name === null ? undefined : behaviours.get(`${list.name}.${name}`)
  const ofLower = (fact: string) => stored(list.lowerParam && `${list.lowerParam}${fact}`)
  const ofUpper = (fact: string) => stored(list.upperParam && `${list.upperParam}${fact}`)
  const supportOf = (text: string | undefined) => knownSupport.find((value) => value === text)
  return {
    order: parseOrder(stored('order')),
    hasMixedOrder: stored('order')?.startsWith(mixedOrderText) ?? false,
    ways: {
      unbounded: decode(ways, stored('pages')),
      forward: decode(ways, ofLower('_pages')),
      backward: decode(ways, ofUpper('_pages')),
    },
    inclusiveBounds: {
      lower: decode(inclusive, ofLower('_includes')),
      upper: decode(inclusive, ofUpper('_includes')),
    },
    support: {
      lower: supportOf(ofLower('')) ?? empty.support.lower,
      upper: supportOf(ofUpper('')) ?? empty.support.upper,
      limit: supportOf(stored('limit')) ?? empty.support.limit,
    },
    isHasMoreReliableIfShort: decode(hasMore, stored('has_more')),
    setsHasMore: ['true', fullText].includes(stored('has_more_set') ?? ''),
    setsHasMoreIfFull: stored('has_more_set') === fullText,
    requiresBothBounds: stored('bounds') === bothBoundsText,
    largestPage: decodeCount(stored('page_size')) ?? 0,
    listedAtMost:
      stored('listed_at_most') === noLimitText ? 0 : decodeCount(stored('listed_at_most')),
    widestWindow: decodeCount(stored('window')),
  }
}

function decodeCount(text: string | undefined): number | null {
  const count = Number(text)
  return Number.isInteger(count) && count > 0 ? count : null
}

/** Some list of the service is known to set `hasMore` on its last page. */
export function isHasMoreKnownUnreliable(behaviours: ReadonlyMap<string, string>): boolean {
  return [...behaviours].some(
    ([name, value]) => name.endsWith('.has_more') && decode(hasMore, value) === false,
  )
}

function parseOrder(text: string | undefined): SortOrder | null {
  const [, way, fields] =
    /^(ascending|descending|unknown way|both ways) by (.+)$/.exec(text ?? '') ?? []
  if (way === undefined || fields === undefined) return null
  return {
    direction: way === 'ascending' || way === 'descending' ? way : null,
    fields: fields.split(' or '),
  }
}

/** Contradicted, not only refined: the service changed, or the observation was wrong. */
export function isBehaviourChange(before: string, now: string): boolean {
  const was = parseOrder(before)
  const is = parseOrder(now)
  if (was === null || is === null) return before !== now && !/^(\d+|any number|true)$/.test(before)
  const isOtherDirection = is.direction !== null && was.direction !== is.direction
  if (was.direction !== null && (now.startsWith(mixedOrderText) || isOtherDirection)) return true
  return is.fields.some((field) => !was.fields.includes(field))
}

/** The profile without what a wrong observation could cost rows by, so that it is learned again. */
export function resetUnsupported(list: ListEndpoint, profile: PagingProfile): PagingProfile {
  return {
    ...profile,
    order: null,
    ways: unknownWays,
    support: emptyProfile(list).support,
    requiresBothBounds: false,
    widestWindow: null,
    largestPage: 0,
    setsHasMoreIfFull: false,
    isHasMoreReliableIfShort: profile.isHasMoreReliableIfShort || null,
  }
}

/** Of two concurrent scans of one list; `later` wins if both know a value. */
export function mergeProfiles(shared: PagingProfile, later: PagingProfile): PagingProfile {
  const merge = <Facts extends object>(before: Facts, now: Facts): Facts => {
    const known = Object.entries(now).filter(([, value]) => value !== null && value !== 'unknown')
    return { ...before, ...Object.fromEntries(known) }
  }
  return {
    order: later.order ?? shared.order,
    hasMixedOrder: later.hasMixedOrder || shared.hasMixedOrder,
    ways: merge(shared.ways, later.ways),
    inclusiveBounds: merge(shared.inclusiveBounds, later.inclusiveBounds),
    support: merge(shared.support, later.support),
    isHasMoreReliableIfShort:
      shared.isHasMoreReliableIfShort ||
      (later.isHasMoreReliableIfShort ?? shared.isHasMoreReliableIfShort),
    setsHasMore: later.setsHasMore || shared.setsHasMore,
    setsHasMoreIfFull: later.setsHasMoreIfFull || shared.setsHasMoreIfFull,
    requiresBothBounds: later.requiresBothBounds || shared.requiresBothBounds,
    largestPage: Math.max(later.largestPage, shared.largestPage),
    listedAtMost:
      shared.listedAtMost === 0 || later.listedAtMost === 0
        ? 0
        : (later.listedAtMost ?? shared.listedAtMost),
    widestWindow: later.widestWindow ?? shared.widestWindow,
  }
}

export type ListEndpoint = {
  /** Prefix of its behaviours in `service_behaviours`: `conversations`. */
  readonly name: string
  readonly path: string
  /** Beside paging: `{ handled: false }`. */
  readonly query: QueryParams
  /** `since`, `from`; null = none. */
  readonly lowerParam: string | null
  /** `to`, `before`; null = none. */
  readonly upperParam: string | null
  /** Bounds and `limit` are; if not, they are tried, and dropped if refused or ignored. */
  readonly isDocumented: boolean
  /** Parameters that split the list into parts, to read a second with more rows than a page. */
  readonly partitions: readonly QueryParams[]
  /** Other page sizes than documented, for tests with small lists. */
  readonly pageSizes?: typeof documentedPageSizes
  readonly identify: (item: Json) => string
  readonly times: (item: Json) => RowTimes
}

/**
 * The service's documentation: "1 to 200, default 50". `most` is requested. `usual`: the size of a
 * page without `limit`, or if it is ignored.
 */
export const documentedPageSizes: Readonly<Record<'most' | 'usual', number>> = {
  most: 200,
  usual: 50,
}

export function pageSizesOf({ pageSizes }: ListEndpoint) {
  return pageSizes ?? documentedPageSizes
}
