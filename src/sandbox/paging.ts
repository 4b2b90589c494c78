/** Takes one page of a sequence of rows, between bounds of time. Pure. */
import type { Json } from '../values/json.ts'
import type { EpochMs } from '../values/time.ts'
import type { Sequence } from './model.ts'
import { findFirstPosition } from './row-store.ts'
import type { BoundKind, PageOrder, Switches } from './switches.ts'

type PageRequest<T> = {
  /** Rows from this time on; undefined = from the start. */
  readonly since?: EpochMs | undefined
  /** Whether rows at that time itself are included. */
  readonly sinceBound?: BoundKind | undefined
  /** Rows before this time; undefined = to the end. */
  readonly before?: EpochMs | undefined
  readonly beforeBound?: BoundKind | undefined
  readonly limit: number
  readonly order: PageOrder
  readonly matches?: ((row: T) => boolean) | undefined
}

/** `hasMore` undefined: the page does not have it. */
type Page<T> = { readonly items: readonly T[]; readonly hasMore: boolean | undefined }

export function takePage<T>(rows: Sequence<T>, request: PageRequest<T>, s: Switches): Page<T> {
  const { since, before, limit, matches } = request
  const isBounded = since !== undefined || before !== undefined
  if (isBounded && s['pages.hollow']) return { items: [], hasMore: true }
  const hidden = s['time.hidden']
  const lower = { inclusive: request.sinceBound === 'inclusive', hidden }
  const upper = { inclusive: request.beforeBound === 'inclusive', hidden }
  const firstAt = (time: EpochMs) => findFirstPosition(rows.length, (position) => rows.timeAt(position) >= time)
  // As in SQL, rows without a time, which are at an infinite one, are in no answer to a request with a bound.
  const start = isBounded ? firstAt(lowerBound(since ?? -Number.MAX_VALUE, lower)) : 0
  const end = isBounded ? firstAt(upperBound(before ?? Number.POSITIVE_INFINITY, upper)) : rows.length
  const { takenFrom, shown } = pageShape(request.order, isBounded)
  const taken: { readonly position: number; readonly row: T }[] = []
  let more = false
  for (const position of positions(start, end, takenFrom)) {
    const row = rows.rowAt(position)
    if (matches?.(row) === false) continue
    if (taken.length === limit) {
      more = true
      break
    }
    taken.push({ position, row })
    if (s.hasMore === 'full' && taken.length === limit) break
  }
  const rank = { ascending: 1, descending: -1, shuffled: 0 }[shown]
  const key = (position: number) => (rank === 0 ? scatter(position) : rank * position)
  const items = taken.sort((a, b) => key(a.position) - key(b.position)).map(({ row }) => row)
  // `full`: a full page claims that more follows, whether true or not.
  const full = items.length === limit
  return { items, hasMore: { exact: more, full, always: true, never: false, absent: undefined }[s.hasMore] }
}

type End = 'oldest' | 'newest' | 'any'

/** Which end the page is taken from, and how its rows are shown. */
function pageShape(order: PageOrder, isBounded: boolean) {
  const isOldest = order.startsWith('oldest') !== (order.includes('-bounded') && !isBounded)
  const takenFrom: End = order.startsWith('any') ? 'any' : isOldest ? 'oldest' : 'newest'
  const shown = (['ascending', 'descending', 'shuffled'] as const).find((way) => order.endsWith(`-${way}`))
  const usual = { oldest: 'ascending', newest: 'descending', any: 'shuffled' } as const
  return { takenFrom, shown: shown ?? usual[takenFrom] }
}

function* positions(start: number, end: number, from: End): Generator<number> {
  if (from === 'any')
    yield* Array.from({ length: Math.max(0, end - start) }, (_, n) => start + n).sort((a, b) => scatter(a) - scatter(b))
  else if (from === 'oldest') for (let p = start; p < end; p += 1) yield p
  else for (let p = end - 1; p >= start; p -= 1) yield p
}

/** Numbers in an order that has nothing to do with theirs, the same each time. */
function scatter(position: number): number {
  return Math.imul(position + 1, 0x9e3779b1) >>> 0
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

/** A page as a list's `data`. */
export function toListData<T>({ items, hasMore }: Page<T>, toWire: (row: T) => Json): Json {
  return { items: items.map(toWire), ...(hasMore === undefined ? {} : { hasMore }) }
}

/** A row as a read by id returns it. */
export function toSingleRow(row: Json, { 'single.shape': shape }: Switches): Json {
  const fields = Object.entries(row as { readonly [field: string]: Json })
  if (shape === 'more')
    return Object.fromEntries([['permalink', `https://support.example/${String(fields[0]?.[1])}`], ...fields])
  if (shape === 'other') return Object.fromEntries(fields.map(([name, value]) => [name, otherValue(name, value)]))
  if (shape === 'fewer')
    return Object.fromEntries(fields.filter(([name]) => !['origin', 'tags', 'status', 'device'].includes(name)))
  return row
}

/** Some fields as another part of the service counts or names them: one with a column, the others undocumented. */
function otherValue(name: string, value: Json): Json {
  if (!['status', 'priority', 'pageViews', 'customFields', 'country_code', 'cost', 'rating'].includes(name))
    return value
  if (typeof value === 'object' && value !== null) return { ...value, plan: 'by id' }
  return typeof value === 'number' ? value + 1 : `${String(value)}, by id`
}
