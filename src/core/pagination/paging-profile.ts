/**
 * What has been learned about one list, and how it is written down in `service_behaviours`. Every part may be unknown:
 * the walk is correct without it, and cheaper with it.
 */

import type { ServiceBehaviour } from '../row.ts'
import type { ListEndpoint } from './list-endpoint.ts'
import { defaultPageSize } from './list-endpoint.ts'
import type { SortDirection, SortOrder } from './sort-order.ts'

/** Which end of the time line a list without bounds shows first, and so which way its pages lead. */
export type ScanDirection = 'up' | 'down'

/** Whether a parameter does something. `try` = not known yet. */
export type Support = 'honoured' | 'ignored' | 'refused' | 'unknown'

export type PagingProfile = {
  readonly order: SortOrder | null
  /** Its pages have been seen to run both ways; then each walk finds out anew. */
  readonly hasMixedOrder: boolean
  /** Proven by a second page that brought new rows. */
  readonly direction: ScanDirection | null
  /** Whether a bound includes its own second; null = not known. */
  readonly inclusiveBounds: { readonly up: boolean | null; readonly down: boolean | null }
  readonly support: { readonly up: Support; readonly down: Support; readonly limit: Support }
  /**
   * Whether `hasMore` can be believed on a page smaller than any that is cut off: true once more has followed such a
   * page, false where nothing did, null = not known. What is false is tried again by every reconcile.
   */
  readonly isHasMoreExact: boolean | null
  /** The service wants both bounds in every question. */
  readonly requiresBothBounds: boolean
  /** The largest page seen: where `limit` is not heard, this is what a full page looks like. */
  readonly largestPage: number
}

/** What can be known of a list before its first page. */
export function emptyProfile(list: ListEndpoint): PagingProfile {
  const bound = (name: string | null): Support =>
    name === null ? 'refused' : list.isDocumented ? 'honoured' : 'unknown'
  return {
    order: null,
    hasMixedOrder: false,
    direction: null,
    inclusiveBounds: { up: null, down: null },
    support: {
      up: bound(list.lowerParam),
      down: bound(list.upperParam),
      limit: list.isDocumented ? 'honoured' : 'unknown',
    },
    isHasMoreExact: null,
    requiresBothBounds: false,
    largestPage: defaultPageSize,
  }
}

const mixedOrderText = 'both ways'

const directionTexts = { up: 'oldest first', down: 'newest first' } as const

/** The learned facts as rows for `service_behaviours`: only those that differ from what `before` said. */
export function observations(
  list: ListEndpoint,
  before: PagingProfile,
  now: PagingProfile,
  evidence: string,
): ServiceBehaviour[] {
  const previous = new Map(encodeProfile(list, before))
  return encodeProfile(list, now).flatMap(([name, value]) =>
    previous.get(name) === value ? [] : [{ name: `${list.name}.${name}`, value, evidence }],
  )
}

function encodeProfile(list: ListEndpoint, profile: PagingProfile): [string, string][] {
  const {
    order,
    hasMixedOrder: bothWays,
    direction: side,
    inclusiveBounds: includes,
    support: trust,
    isHasMoreExact: exact,
    requiresBothBounds: closed,
    largestPage: largest,
  } = profile
  const all: [string | null, string | null][] = [
    [
      'order',
      order && `${bothWays ? mixedOrderText : (order.direction ?? 'unknown way')} by ${order.fields.join(' or ')}`,
    ],
    ['pages', side && directionTexts[side]],
    [list.lowerParam && `${list.lowerParam}_includes`, includes.up === null ? null : String(includes.up)],
    [list.upperParam && `${list.upperParam}_includes`, includes.down === null ? null : String(includes.down)],
    ['has_more', exact === null ? null : exact ? 'exact' : 'not exact'],
    ['bounds', closed ? 'both required' : null],
    ['page_size', largest === defaultPageSize ? null : String(largest)],
  ]
  const trusts: [string | null, string | null][] = [
    [list.lowerParam, trust.up],
    [list.upperParam, trust.down],
    ['limit', trust.limit],
  ].map(([name, value]) => [name ?? null, value === 'unknown' ? null : (value ?? null)])
  return [...all, ...(list.isDocumented ? trusts.filter(([, value]) => value !== 'honoured') : trusts)].flatMap(
    ([name, value]) => (name === null || value === null ? [] : [[name, value] satisfies [string, string]]),
  )
}

/** What earlier passes wrote down. A value that cannot be read is simply not known. */
export function decodeProfile(list: ListEndpoint, behaviours: ReadonlyMap<string, string>): PagingProfile {
  const empty = emptyProfile(list)
  const stored = (name: string | null) => (name === null ? undefined : behaviours.get(`${list.name}.${name}`))
  const supportOf = (name: string | null, otherwise: Support) => readSupport(stored(name)) ?? otherwise
  const size = Number(stored('page_size'))
  return {
    order: readOrder(stored('order')),
    hasMixedOrder: stored('order')?.startsWith(mixedOrderText) ?? false,
    direction: stored('pages') === directionTexts.up ? 'up' : stored('pages') === directionTexts.down ? 'down' : null,
    inclusiveBounds: {
      up: readFlag(stored(list.lowerParam && `${list.lowerParam}_includes`)),
      down: readFlag(stored(list.upperParam && `${list.upperParam}_includes`)),
    },
    support: {
      up: supportOf(list.lowerParam, empty.support.up),
      down: supportOf(list.upperParam, empty.support.down),
      limit: supportOf('limit', empty.support.limit),
    },
    isHasMoreExact: stored('has_more') === 'exact' ? true : stored('has_more') === 'not exact' ? false : null,
    requiresBothBounds: stored('bounds') === 'both required',
    largestPage: Number.isInteger(size) && size > 0 ? size : empty.largestPage,
  }
}

function readOrder(text: string | undefined): SortOrder | null {
  const [, way, fields] = /^(ascending|descending|unknown way|both ways) by (.+)$/.exec(text ?? '') ?? []
  if (way === undefined || fields === undefined) return null
  return {
    direction: way === 'unknown way' || way === mixedOrderText ? null : (way as SortDirection),
    fields: fields.split(' or '),
  }
}

function readFlag(text: string | undefined): boolean | null {
  return text === 'true' ? true : text === 'false' ? false : null
}

function readSupport(text: string | undefined): Support | undefined {
  return text === 'honoured' || text === 'ignored' || text === 'refused' ? text : undefined
}

/**
 * Whether a fact says something else than it did before, and not only more: a service that changed, or that we
 * misunderstood.
 */
export function isBehaviourChange(before: string, now: string): boolean {
  const [was, is] = [readOrder(before), readOrder(now)]
  if (was === null || is === null) return before !== now && !/^\d+$/.test(before)
  const turned =
    was.direction !== null &&
    (now.startsWith(mixedOrderText) || (is.direction !== null && was.direction !== is.direction))
  return turned || is.fields.some((field) => !was.fields.includes(field))
}

/** What is known, but for what does not work: that is tried again. */
export function resetUnsupported(list: ListEndpoint, profile: PagingProfile): PagingProfile {
  return {
    ...profile,
    direction: null,
    support: emptyProfile(list).support,
    requiresBothBounds: false,
    isHasMoreExact: profile.isHasMoreExact || null,
  }
}

/** What two readers of one list know together; where both know, the later one (`mine`) is believed. */
export function mergeProfiles(shared: PagingProfile, later: PagingProfile): PagingProfile {
  const supportOf = (side: 'up' | 'down' | 'limit') =>
    later.support[side] === 'unknown' ? shared.support[side] : later.support[side]
  return {
    order: later.order ?? shared.order,
    hasMixedOrder: later.hasMixedOrder || shared.hasMixedOrder,
    direction: later.direction ?? shared.direction,
    inclusiveBounds: {
      up: later.inclusiveBounds.up ?? shared.inclusiveBounds.up,
      down: later.inclusiveBounds.down ?? shared.inclusiveBounds.down,
    },
    support: { up: supportOf('up'), down: supportOf('down'), limit: supportOf('limit') },
    isHasMoreExact: shared.isHasMoreExact === true ? true : (later.isHasMoreExact ?? shared.isHasMoreExact),
    requiresBothBounds: later.requiresBothBounds || shared.requiresBothBounds,
    largestPage: Math.max(later.largestPage, shared.largestPage),
  }
}
