/** One page of a sequence of rows. */
import type { EpochMs } from '../../core/time.ts'
import type { Sequence } from '../model.ts'
import { firstWhere } from '../order.ts'
import type { pageOrders, Switches } from '../switches.ts'
import type { Json } from './json.ts'

export type PageAsk<T> = {
  /** Rows from this moment on; undefined = from the beginning. */
  readonly from?: EpochMs | undefined
  /** Rows before this moment; undefined = to the end. */
  readonly to?: EpochMs | undefined
  readonly limit: number
  /** Which end the page is taken from. */
  readonly take: 'oldest' | 'newest'
  /** Which row of the page comes first. */
  readonly first: 'oldest' | 'newest'
  readonly keep?: ((row: T) => boolean) | undefined
  /** `full`: a full page claims that more follows, whether it does or not. */
  readonly hasMore: 'exact' | 'full' | 'always'
  /** With a bound: nothing, and more behind it. */
  readonly hollow?: boolean
}

/** Which end a page is taken from, and how it is shown. `bounded`: a bound was given. */
export function endsOf(order: (typeof pageOrders)[number], bounded: boolean): Pick<PageAsk<never>, 'take' | 'first'> {
  if (order === 'newest-ascending') return { take: 'newest', first: 'oldest' }
  const end = order === 'oldest' || order === (bounded ? 'oldest-bounded' : 'newest-bounded') ? 'oldest' : 'newest'
  return { take: end, first: end }
}

export type Page<T> = { readonly items: readonly T[]; readonly hasMore: boolean }

export function pageOf<T>(rows: Sequence<T>, ask: PageAsk<T>): Page<T> {
  if (ask.hollow === true && (ask.from !== undefined || ask.to !== undefined)) return { items: [], hasMore: true }
  const start = ask.from === undefined ? 0 : firstAt(rows, ask.from)
  const end = ask.to === undefined ? rows.length : firstAt(rows, ask.to)
  const items: T[] = []
  let more = false
  for (const position of walk(start, end, ask.take)) {
    const row = rows.rowAt(position)
    if (ask.keep !== undefined && !ask.keep(row)) continue
    if (items.length === ask.limit) {
      more = true
      break
    }
    items.push(row)
    if (ask.hasMore === 'full' && items.length === ask.limit) break
  }
  if (ask.first !== ask.take) items.reverse()
  const claims = { exact: more, full: items.length === ask.limit, always: true }
  return { items, hasMore: claims[ask.hasMore] }
}

/** A row as a reading by its id shows it. */
export function single(row: Json, shape: Switches['single.shape']): Json {
  const fields = Object.entries(row as { readonly [field: string]: Json })
  if (shape === 'more')
    return Object.fromEntries([['permalink', `https://desk.example/${String(fields[0]?.[1])}`], ...fields])
  if (shape === 'fewer')
    return Object.fromEntries(fields.filter(([name]) => !['origin', 'tags', 'status', 'device'].includes(name)))
  return row
}

/** A page as a list's `data`. */
export function onWire<T>(page: Page<T>, toWire: (row: T) => Json): Json {
  return { items: page.items.map(toWire), hasMore: page.hasMore }
}

function firstAt<T>(rows: Sequence<T>, time: EpochMs): number {
  return firstWhere(rows.length, (position) => rows.timeAt(position) >= time)
}

function* walk(start: number, end: number, take: 'oldest' | 'newest'): Generator<number> {
  if (take === 'oldest') for (let p = start; p < end; p += 1) yield p
  else for (let p = end - 1; p >= start; p -= 1) yield p
}
