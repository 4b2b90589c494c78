/** Takes one page of a sequence of rows. */
import type { EpochMs } from '../../core/time.ts'
import type { Sequence } from '../model.ts'
import type { pageOrders, Switches } from '../switches.ts'
import { findFirstPosition } from '../time-order.ts'
import type { Json } from './json.ts'

export type PageRequest<T> = {
  /** Rows from this time on; undefined = from the start. */
  readonly from?: EpochMs | undefined
  /** Rows before this time; undefined = to the end. */
  readonly to?: EpochMs | undefined
  readonly limit: number
  /** Which end the page is taken from. */
  readonly takeFrom: 'oldest' | 'newest'
  /** Which row of the page comes first. */
  readonly first: 'oldest' | 'newest'
  readonly matches?: ((row: T) => boolean) | undefined
  /** `full`: a full page claims that more follows, whether true or not. */
  readonly hasMore: 'exact' | 'full' | 'always'
  /** With a bound the page is empty, but claims that more follows. */
  readonly isEmptyWithBound?: boolean
}

/** The ends for a page order. `bounded`: a bound was given. */
export function pageEnds(
  order: (typeof pageOrders)[number],
  bounded: boolean,
): Pick<PageRequest<never>, 'takeFrom' | 'first'> {
  if (order === 'newest-ascending') return { takeFrom: 'newest', first: 'oldest' }
  const end = order === 'oldest' || order === (bounded ? 'oldest-bounded' : 'newest-bounded') ? 'oldest' : 'newest'
  return { takeFrom: end, first: end }
}

export type Page<T> = { readonly items: readonly T[]; readonly hasMore: boolean }

export function takePage<T>(rows: Sequence<T>, request: PageRequest<T>): Page<T> {
  if (request.isEmptyWithBound === true && (request.from !== undefined || request.to !== undefined))
    return { items: [], hasMore: true }
  const start = request.from === undefined ? 0 : firstAt(rows, request.from)
  const end = request.to === undefined ? rows.length : firstAt(rows, request.to)
  const items: T[] = []
  let more = false
  for (const position of positions(start, end, request.takeFrom)) {
    const row = rows.rowAt(position)
    if (request.matches !== undefined && !request.matches(row)) continue
    if (items.length === request.limit) {
      more = true
      break
    }
    items.push(row)
    if (request.hasMore === 'full' && items.length === request.limit) break
  }
  if (request.first !== request.takeFrom) items.reverse()
  const hasMoreByMode = { exact: more, full: items.length === request.limit, always: true }
  return { items, hasMore: hasMoreByMode[request.hasMore] }
}

/** A row as a read by id returns it. */
export function toSingleRow(row: Json, shape: Switches['single.shape']): Json {
  const fields = Object.entries(row as { readonly [field: string]: Json })
  if (shape === 'more')
    return Object.fromEntries([['permalink', `https://support.example/${String(fields[0]?.[1])}`], ...fields])
  if (shape === 'fewer')
    return Object.fromEntries(fields.filter(([name]) => !['origin', 'tags', 'status', 'device'].includes(name)))
  return row
}

/** A page as a list's `data`. */
export function toListData<T>(page: Page<T>, toWire: (row: T) => Json): Json {
  return { items: page.items.map(toWire), hasMore: page.hasMore }
}

function firstAt<T>(rows: Sequence<T>, time: EpochMs): number {
  return findFirstPosition(rows.length, (position) => rows.timeAt(position) >= time)
}

function* positions(start: number, end: number, from: 'oldest' | 'newest'): Generator<number> {
  if (from === 'oldest') for (let p = start; p < end; p += 1) yield p
  else for (let p = end - 1; p >= start; p -= 1) yield p
}
