/** Takes one page of a sequence of rows, between bounds of time. Pure. */
import type { Json } from '../../core/row.ts'
import type { EpochMs } from '../../core/time.ts'
import type { Sequence } from '../model.ts'
import type { pageOrders, Switches } from '../switches.ts'
import { findFirstPosition } from '../time-order.ts'

type BoundKind = 'inclusive' | 'exclusive'

type PageRequest<T> = {
  /** Rows from this time on; undefined = from the start. */
  readonly since?: EpochMs | undefined
  /** Whether rows at that time itself are included. */
  readonly sinceBound?: BoundKind
  /** Rows before this time; undefined = to the end. */
  readonly before?: EpochMs | undefined
  readonly beforeBound?: BoundKind
  readonly limit: number
  readonly order: (typeof pageOrders)[number]
  readonly matches?: ((row: T) => boolean) | undefined
}

type End = 'oldest' | 'newest'

export type Page<T> = { readonly items: readonly T[]; readonly hasMore: boolean }

export function takePage<T>(rows: Sequence<T>, request: PageRequest<T>, s: Switches): Page<T> {
  const { since, before, limit, matches } = request
  const isBounded = since !== undefined || before !== undefined
  if (isBounded && s['pages.hollow']) return { items: [], hasMore: true }
  const hidden = s['time.hidden']
  const [from, to] = [
    { inclusive: request.sinceBound === 'inclusive', hidden },
    { inclusive: request.beforeBound === 'inclusive', hidden },
  ]
  const start = since === undefined ? 0 : firstAt(rows, lowerBound(since, from))
  const end = before === undefined ? rows.length : firstAt(rows, upperBound(before, to))
  const { takeFrom, first } = pageEnds(request.order, isBounded)
  const items: T[] = []
  let more = false
  for (const position of positions(start, end, takeFrom)) {
    const row = rows.rowAt(position)
    if (matches?.(row) === false) continue
    if (items.length === limit) {
      more = true
      break
    }
    items.push(row)
    if (s.hasMore === 'full' && items.length === limit) break
  }
  if (first !== takeFrom) items.reverse()
  // `full`: a full page claims that more follows, whether true or not.
  return { items, hasMore: { exact: more, full: items.length === limit, always: true }[s.hasMore] }
}

/** Which end the page is taken from, and which of its rows comes first. */
function pageEnds(order: (typeof pageOrders)[number], isBounded: boolean): Record<'takeFrom' | 'first', End> {
  if (order === 'newest-ascending') return { takeFrom: 'newest', first: 'oldest' }
  const end = order === 'oldest' || order === (isBounded ? 'oldest-bounded' : 'newest-bounded') ? 'oldest' : 'newest'
  return { takeFrom: end, first: end }
}

/** `hidden`: the clock is finer than the times shown, and comparisons use the fractions, not the truncated times. */
type Bound = { readonly inclusive: boolean; readonly hidden: boolean }

const second = 1000

/** The first millisecond after `time` (or at it, if inclusive). */
export function lowerBound(time: EpochMs, { inclusive, hidden }: Bound): EpochMs {
  if (hidden) return inclusive ? time : time + 1
  return inclusive ? Math.ceil(time / second) * second : (Math.floor(time / second) + 1) * second
}

/** The first millisecond that is no longer before `time` (or at it, if inclusive): with it, later rows are those after it. */
export function upperBound(time: EpochMs, { inclusive, hidden }: Bound): EpochMs {
  return lowerBound(time, { inclusive: !inclusive, hidden })
}

/** A row as a read by id returns it. */
export function toSingleRow(row: Json, shape: Switches['single.shape']): Json {
  const fields = Object.entries(row as { readonly [field: string]: Json })
  if (shape === 'more')
    return Object.fromEntries([['permalink', `https://support.example/${String(fields[0]?.[1])}`], ...fields])
  if (shape === 'fewer')
    return Object.fromEntries(fields.filter(([name]) => !['origin', 'tags', 'status', 'device'].includes(name)))
  if (shape === 'other') return { ...Object.fromEntries(fields), status: 'by id', tier: { of: 'detail' } }
  return row
}

/** A row as a list shows it. */
export function toListedRow(row: Json, s: Switches): Json {
  const fields = row as { readonly [field: string]: Json }
  if (s['single.shape'] === 'other') return { ...fields, status: 'in lists', tier: { of: 'list' } }
  return s['ids.letters'] === 'upper-lists' ? { ...fields, id: String(fields.id).toUpperCase() } : row
}

/** A page as a list's `data`. */
export function toListData<T>(page: Page<T>, toWire: (row: T) => Json): Json {
  return { items: page.items.map(toWire), hasMore: page.hasMore }
}

function firstAt<T>(rows: Sequence<T>, time: EpochMs): number {
  return findFirstPosition(rows.length, (position) => rows.timeAt(position) >= time)
}

function* positions(start: number, end: number, from: End): Generator<number> {
  if (from === 'oldest') for (let p = start; p < end; p += 1) yield p
  else for (let p = end - 1; p >= start; p -= 1) yield p
}
