/**
 * What has been learned about one list, and how it is written down in `service_behaviours`. Every part may be unknown:
 * the walk is correct without it, and cheaper with it.
 */

import type { Behaviour } from '../row.ts'
import type { List } from './list.ts'
import { defaultPage } from './list.ts'
import type { Order, Way } from './order.ts'

/** Which end of the time line a list without bounds shows first, and so which way its pages lead. */
export type Side = 'up' | 'down'

/** Whether a parameter does something. `try` = not known yet. */
export type Trust = 'honoured' | 'ignored' | 'refused' | 'try'

export type Knowledge = {
  readonly order: Order | null
  /** Its pages have been seen to run both ways; then each walk finds out anew. */
  readonly bothWays: boolean
  /** Proven by a second page that brought new rows. */
  readonly side: Side | null
  /** Whether a bound includes its own second; null = not known. */
  readonly includes: { readonly up: boolean | null; readonly down: boolean | null }
  readonly trust: { readonly up: Trust; readonly down: Trust; readonly limit: Trust }
  /**
   * Whether `hasMore` can be believed on a page smaller than any that is cut off: true once more has followed such a
   * page, false where nothing did, null = not known. What is false is tried again by every reconcile.
   */
  readonly exact: boolean | null
  /** The service wants both bounds in every question. */
  readonly closed: boolean
  /** The largest page seen: where `limit` is not heard, this is what a full page looks like. */
  readonly largest: number
}

/** What can be known of a list before its first page. */
export function ignorance(list: List): Knowledge {
  const bound = (name: string | null): Trust => (name === null ? 'refused' : list.documented ? 'honoured' : 'try')
  return {
    order: null,
    bothWays: false,
    side: null,
    includes: { up: null, down: null },
    trust: { up: bound(list.lower), down: bound(list.upper), limit: list.documented ? 'honoured' : 'try' },
    exact: null,
    closed: false,
    largest: defaultPage,
  }
}

const both = 'both ways'

const sides = { up: 'oldest first', down: 'newest first' } as const

/** The learned facts as rows for `service_behaviours`: only those that differ from what `before` said. */
export function lessons(list: List, before: Knowledge, now: Knowledge, evidence: string): Behaviour[] {
  const told = new Map(facts(list, before))
  return facts(list, now).flatMap(([name, value]) =>
    told.get(name) === value ? [] : [{ name: `${list.name}.${name}`, value, evidence }],
  )
}

function facts(list: List, known: Knowledge): [string, string][] {
  const { order, bothWays, side, includes, trust, exact, closed, largest } = known
  const all: [string | null, string | null][] = [
    ['order', order && `${bothWays ? both : (order.way ?? 'unknown way')} by ${order.fields.join(' or ')}`],
    ['pages', side && sides[side]],
    [list.lower && `${list.lower}_includes`, includes.up === null ? null : String(includes.up)],
    [list.upper && `${list.upper}_includes`, includes.down === null ? null : String(includes.down)],
    ['has_more', exact === null ? null : exact ? 'exact' : 'not exact'],
    ['bounds', closed ? 'both required' : null],
    ['page_size', largest === defaultPage ? null : String(largest)],
  ]
  const trusts: [string | null, string | null][] = [
    [list.lower, trust.up],
    [list.upper, trust.down],
    ['limit', trust.limit],
  ].map(([name, value]) => [name ?? null, value === 'try' ? null : (value ?? null)])
  return [...all, ...(list.documented ? trusts.filter(([, value]) => value !== 'honoured') : trusts)].flatMap(
    ([name, value]) => (name === null || value === null ? [] : [[name, value] satisfies [string, string]]),
  )
}

/** What earlier passes wrote down. A value that cannot be read is simply not known. */
export function recall(list: List, behaviours: ReadonlyMap<string, string>): Knowledge {
  const blank = ignorance(list)
  const told = (name: string | null) => (name === null ? undefined : behaviours.get(`${list.name}.${name}`))
  const trust = (name: string | null, otherwise: Trust) => readTrust(told(name)) ?? otherwise
  const size = Number(told('page_size'))
  return {
    order: readOrder(told('order')),
    bothWays: told('order')?.startsWith(both) ?? false,
    side: told('pages') === sides.up ? 'up' : told('pages') === sides.down ? 'down' : null,
    includes: {
      up: readFlag(told(list.lower && `${list.lower}_includes`)),
      down: readFlag(told(list.upper && `${list.upper}_includes`)),
    },
    trust: {
      up: trust(list.lower, blank.trust.up),
      down: trust(list.upper, blank.trust.down),
      limit: trust('limit', blank.trust.limit),
    },
    exact: told('has_more') === 'exact' ? true : told('has_more') === 'not exact' ? false : null,
    closed: told('bounds') === 'both required',
    largest: Number.isInteger(size) && size > 0 ? size : blank.largest,
  }
}

function readOrder(text: string | undefined): Order | null {
  const [, way, fields] = /^(ascending|descending|unknown way|both ways) by (.+)$/.exec(text ?? '') ?? []
  if (way === undefined || fields === undefined) return null
  return { way: way === 'unknown way' || way === both ? null : (way as Way), fields: fields.split(' or ') }
}

function readFlag(text: string | undefined): boolean | null {
  return text === 'true' ? true : text === 'false' ? false : null
}

function readTrust(text: string | undefined): Trust | undefined {
  return text === 'honoured' || text === 'ignored' || text === 'refused' ? text : undefined
}

/**
 * Whether a fact says something else than it did before, and not only more: a service that changed, or that we
 * misunderstood.
 */
export function contradicts(before: string, now: string): boolean {
  const [was, is] = [readOrder(before), readOrder(now)]
  if (was === null || is === null) return before !== now && !/^\d+$/.test(before)
  const turned = was.way !== null && (now.startsWith(both) || (is.way !== null && was.way !== is.way))
  return turned || is.fields.some((field) => !was.fields.includes(field))
}

/** What is known, but for what does not work: that is tried again. */
export function forgiving(list: List, known: Knowledge): Knowledge {
  return { ...known, side: null, trust: ignorance(list).trust, closed: false, exact: known.exact || null }
}

/** What two readers of one list know together; where both know, the later one (`mine`) is believed. */
export function unite(shared: Knowledge, mine: Knowledge): Knowledge {
  const trust = (side: 'up' | 'down' | 'limit') => (mine.trust[side] === 'try' ? shared.trust[side] : mine.trust[side])
  return {
    order: mine.order ?? shared.order,
    bothWays: mine.bothWays || shared.bothWays,
    side: mine.side ?? shared.side,
    includes: { up: mine.includes.up ?? shared.includes.up, down: mine.includes.down ?? shared.includes.down },
    trust: { up: trust('up'), down: trust('down'), limit: trust('limit') },
    exact: shared.exact === true ? true : (mine.exact ?? shared.exact),
    closed: mine.closed || shared.closed,
    largest: Math.max(mine.largest, shared.largest),
  }
}
