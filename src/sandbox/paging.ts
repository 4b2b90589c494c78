/** One page of a sequence of rows, between bounds of time. Pure. */
import type { Json } from '../values/json.ts'
import type { EpochMs } from '../values/time.ts'
import type { Sequence } from './model.ts'
import { findFirstPosition } from './row-store.ts'
import type { PageOrder, Switches } from './switches.ts'

/** `inclusive`: rows at that time itself are included. */
type Bound = { readonly at: EpochMs; readonly inclusive: boolean }

export type ListQuery<T> = {
  readonly lower?: Bound | undefined
  readonly upper?: Bound | undefined
  readonly limit: number
  readonly matches?: ((row: T) => boolean) | undefined
}

/** The `data` of a list. */
export function listPage<T>(
  rows: Sequence<T>,
  { lower, upper, limit, matches }: ListQuery<T>,
  order: PageOrder,
  s: Switches,
  toWire: (row: T) => Json,
): Json {
  const isBounded = lower !== undefined || upper !== undefined
  if (isBounded && s['pages.hollow']) return { items: [], hasMore: true }
  const hidden = s['time.hidden']
  const firstAt = (time: EpochMs) =>
    findFirstPosition(rows.length, (position) => rows.timeAt(position) >= time)
  // As in SQL, rows without a time are in no answer to a request with a bound.
  const lowest = lower === undefined ? -Number.MAX_VALUE : lowerBound(lower, hidden)
  const highest = upper === undefined ? Number.POSITIVE_INFINITY : upperBound(upper, hidden)
  const [start, end] = isBounded ? [firstAt(lowest), firstAt(highest)] : [0, rows.length]
  const { takenFrom, shown } = pageShape(order, isBounded)
  const size = Math.min(limit, s['pages.most'] || limit)
  const taken: { readonly position: number; readonly row: T }[] = []
  let more = false
  for (const position of positions(start, end, takenFrom)) {
    const row = rows.rowAt(position)
    if (matches?.(row) === false) continue
    more = taken.length === size
    if (more) break
    taken.push({ position, row })
    if (s.hasMore === 'full' && taken.length === size) break
  }
  const rank = { ascending: 1, descending: -1, shuffled: 0 }[shown]
  const key = (position: number) => (rank === 0 ? scatter(position) : rank * position)
  const items = taken
    .sort((a, b) => key(a.position) - key(b.position))
    .map(({ row }) => toWire(row))
  if (s.hasMore === 'absent') return { items }
  // `full`: a full page claims that more follows, whether true or not.
  const says = {
    exact: more,
    full: items.length === size,
    asked: items.length === limit,
    always: true,
    never: false,
  }
  return { items, hasMore: says[s.hasMore] }
}

/** Which end the page is taken from, and how its rows are shown. */
function pageShape(order: PageOrder, isBounded: boolean) {
  const usual = { oldest: 'ascending', newest: 'descending', any: 'shuffled' } as const
  const isOldest = order.startsWith('oldest') !== (order.includes('-bounded') && !isBounded)
  const takenFrom: keyof typeof usual = order.startsWith('any')
    ? 'any'
    : isOldest
      ? 'oldest'
      : 'newest'
  const shown = (['ascending', 'descending', 'shuffled'] as const).find((way) =>
    order.endsWith(`-${way}`),
  )
  return { takenFrom, shown: shown ?? usual[takenFrom] }
}

function* positions(
  start: number,
  end: number,
  from: 'oldest' | 'newest' | 'any',
): Generator<number> {
  if (from === 'any')
    yield* Array.from({ length: Math.max(0, end - start) }, (_, n) => start + n).sort(
      (a, b) => scatter(a) - scatter(b),
    )
  else if (from === 'oldest') for (let p = start; p < end; p += 1) yield p
  else for (let p = end - 1; p >= start; p -= 1) yield p
}

/** Numbers in an order that has nothing to do with theirs, the same each time. */
const scatter = (position: number): number => Math.imul(position + 1, 0x9e3779b1) >>> 0

const second = 1000

/**
 * The first millisecond after the time (or at it, if inclusive). `hidden`: comparisons use the
 * fractions of a finer clock, not the times shown.
 */
export function lowerBound({ at, inclusive }: Bound, hidden: boolean): EpochMs {
  if (hidden) return inclusive ? at : at + 1
  return inclusive ? Math.ceil(at / second) * second : (Math.floor(at / second) + 1) * second
}

/** The first millisecond that is no longer before the time (or at it, if inclusive). */
export const upperBound = ({ at, inclusive }: Bound, hidden: boolean): EpochMs =>
  lowerBound({ at, inclusive: !inclusive }, hidden)
