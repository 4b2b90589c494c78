/**
 * What no page shows, asked once by the first page of a reading that knows no order yet: whether a
 * page without bounds leaves out old rows, and whether bounds compare the time of the order.
 */
import { allTime, boundsOf, mayWork, type TimeRange } from './list-cursor.ts'
import { isCut, repeatsRow } from './page-evidence.ts'
import type { ScanPage } from './page-protocol.ts'
import { request } from './page-size.ts'
import { addGap, type RangeQuery, type Reading, type Requests } from './reading-state.ts'
import {
  completeTo,
  maxOf,
  minOf,
  type RowTimes,
  type ScanDirection,
  type SortOrder,
  sortTimesOf,
} from './sort-order.ts'

/** Returns the range before the page if a lower bound shows rows there. */
export function* testBounds(
  reading: Reading,
  { move }: RangeQuery,
  page: ScanPage,
): Requests<TimeRange | null> {
  if (!reading.isUntested) return null
  const { order } = reading.profile
  const older = move === 'unbounded' ? yield* findOlder(reading, page, order) : null
  if (order !== null && isCut(reading, page))
    for (const way of ['forward', 'backward'] as const)
      yield* compareBound(reading, way, page, order)
  reading.isUntested = false
  return older
}

/** A service may answer a request without a lower bound with the rows of the last days. */
function* findOlder(
  reading: Reading,
  page: ScanPage,
  order: SortOrder | null,
): Requests<TimeRange | null> {
  const { list, profile } = reading
  const oldest = order === null ? undefined : completeTo('backward', order, page.times)
  const isKnown = page.ids.length === 0 || oldest !== undefined
  if (!isKnown || !list.isDocumented || !mayWork(profile.support.lower)) return null
  // Not from 0, where no bound is sent.
  const older = { lo: 1, hi: oldest ?? null }
  const reply = yield* request(reading, boundsOf('forward', older, profile))
  if (reply.kind === 'refused') return null
  const isOlder = (row: RowTimes) =>
    row.size > 0 && sortTimesOf(row, order).every((at) => at < (oldest ?? at + 1))
  return reply.page.times.some(isOlder) ? older : null
}

/** What is left of the list is read with a lower bound from now on. */
export function addOlder(reading: Reading, older: TimeRange): void {
  const { pending, lastPage } = reading
  const isPending = pending.some(({ lo }) => lo === 0)
  reading.pending = isPending
    ? pending.map((range) => (range.lo === 0 ? { ...range, lo: 1 } : range))
    : [...pending, older]
  const [range] = reading.pending
  if (lastPage !== null && range !== undefined) reading.lastPage = { ...lastPage, range }
}

/**
 * A list may be sorted by one time while its bounds compare another: calls in the order of their
 * ends then lack those that began before a bound. A row that its own time should show, and another
 * one hides, tells, if a bound beyond all of its times shows it, and the first one again does not.
 */
function* compareBound(
  reading: Reading,
  way: ScanDirection,
  page: ScanPage,
  order: SortOrder,
): Requests<void> {
  if (!mayWork(reading.profile.support[way === 'forward' ? 'lower' : 'upper'])) return
  const edgeOf = (times: Iterable<number>) => (way === 'forward' ? minOf(times) : maxOf(times)) ?? 0
  const distances = page.times.map((row) =>
    Math.abs(edgeOf(sortTimesOf(row, order)) - edgeOf(row.values())),
  )
  const i = distances.indexOf(maxOf(distances) ?? 0)
  const [id = '', row = new Map()] = [page.ids[i], page.times[i]]
  // Requests overlap by a second.
  if ((distances[i] ?? 0) < 2 || sortTimesOf(row, order).length < order.fields.length) return
  const from = (at: number) =>
    boundsOf(way, way === 'forward' ? { lo: at, hi: null } : { lo: 0, hi: at }, reading.profile)
  const near = from(edgeOf(sortTimesOf(row, order)))
  for (const bounds of [near, from(edgeOf(row.values())), near]) {
    const reply = yield* request(reading, bounds)
    if (reply.kind === 'refused') return
    const isShown =
      bounds === near
        ? reply.page.ids.includes(id)
        : repeatsRow(reply.page, { ...page, ids: [id], times: [row] })
    if (isShown === (bounds === near)) return
  }
  addGap(reading, allTime, 'otherBound')
}
