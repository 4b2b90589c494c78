/** Moves past a second with more rows than a page: reads its parts, reports what they do not show, and goes on behind it. */

import type { EpochSeconds } from '../../../values/time.ts'
import type { TimeRange } from './list-cursor.ts'
import { edgeSecond, isCut, isOutside, rangeBeyondEdge, restAfterPage, showsNewRows } from './page-evidence.ts'
import type { ScanPage } from './page-exchange.ts'
import { boundOf, pageSizesOf } from './paging-profile.ts'
import {
  addGap,
  finishRange,
  giveUpRange,
  observe,
  orderOf,
  type Reading,
  type Requests,
  replaceRange,
  request,
  setSupport,
} from './reading-state.ts'
import { type ScanDirection, sortTimesOf, type TimeBounds } from './sort-order.ts'

/** An edge of a range, and the bounds of a request from there, which overlaps what was read by a second. */
type Edge = { readonly range: TimeRange; readonly way: ScanDirection; readonly bounds: TimeBounds }

/** `stuck`: a page that fills the edge. */
export function* passCollision(reading: Reading, edge: Edge, stuck: ScanPage): Requests<void> {
  const { range, way, bounds } = edge
  const bound = boundOf(way)
  const second = edgeSecond(way, range)
  const exact = { ...bounds, [bound]: second }
  if (reading.profile.inclusiveBounds[bound] !== false && bounds[bound] !== second) {
    const reply = yield* request(reading, exact)
    if (reply.kind === 'refused') return giveUpRange(reading, range, stuck)
    const { page } = reply
    if (page.times.some((row) => isOutside(row, exact, reading.profile.order)))
      return setSupport(reading, way, 'ignored')
    observe(reading, page, exact)
    if (!repeatsSecond(reading, stuck, page, second)) {
      const { profile } = reading
      reading.profile = { ...profile, inclusiveBounds: { ...profile.inclusiveBounds, [bound]: false } }
      yield* readSecond(reading, second, way, bounds)
    }
    if (!isCut(reading, page)) return finishRange(reading, range, page)
    if (showsNewRows(page, stuck) && leaveEdge(reading, range, way, page)) return
  }
  yield* readBeyond(reading, edge, stuck)
}

/** The second is full: what follows it is requested without overlap. */
function* readBeyond(reading: Reading, { range: full, way, bounds }: Edge, stuck: ScanPage): Requests<void> {
  const bound = boundOf(way)
  for (let range = full; ; ) {
    const second = edgeSecond(way, range)
    const rest = rangeBeyondEdge(way, range)
    if (rest === null) {
      yield* readSecond(reading, second, way, bounds)
      return replaceRange(reading, [], null)
    }
    const isExclusive = reading.profile.inclusiveBounds[bound] === false
    const next = { ...bounds, [bound]: isExclusive ? second : edgeSecond(way, rest) }
    const reply = yield* request(reading, next)
    const before = reading.profile.order
    if (reply.kind === 'page') observe(reading, reply.page, next)
    // Rows of that second are shown beyond it: their time there does not order the list, and the others lead on.
    const isRefuted =
      before !== null && (reading.profile.order?.fields.length ?? before.fields.length) < before.fields.length
    if (isRefuted && reply.kind === 'page' && leaveEdge(reading, rest, way, reply.page)) return
    yield* readSecond(reading, second, way, bounds)
    if (reply.kind === 'refused') return giveUpRange(reading, rest, null)
    const { page } = reply
    replaceRange(reading, [rest], null)
    // The bound has no effect, so no request leads beyond this second.
    const isIgnored = page.times.some((row) => isOutside(row, next, reading.profile.order))
    if (isIgnored || (page.ids.length > 0 && !showsNewRows(page, stuck))) return giveUpRange(reading, rest, page)
    if (!isCut(reading, page)) return finishRange(reading, rest, page)
    const order = orderOf(reading, page)
    const isBeyond = (at: EpochSeconds) => (way === 'forward' ? at > second : at < second)
    if (order === null || !page.times.some((row) => sortTimesOf(row, order).some(isBeyond)))
      return giveUpRange(reading, rest, page)
    if (leaveEdge(reading, rest, way, page)) return
    range = rest
  }
}

/** True if the page leads on. */
function leaveEdge(reading: Reading, range: TimeRange, way: ScanDirection, page: ScanPage): boolean {
  const order = orderOf(reading, page)
  const left = order === null ? null : restAfterPage(way, range, order, page.times)
  if (left === null) return false
  replaceRange(reading, left.rest === null ? [] : [left.rest], page, way)
  return true
}

/** The page repeats a row of that second, so it begins with all rows of it that the page before did not show. */
function repeatsSecond(reading: Reading, before: ScanPage, page: ScanPage, second: EpochSeconds): boolean {
  const fields = orderOf(reading, before)?.fields ?? []
  const idsAt = ({ ids, times }: ScanPage) =>
    ids.filter((_, i) => fields.some((field) => times[i]?.get(field) === second))
  const known = idsAt(before)
  // A row that has moved meanwhile is no repetition.
  const shown = new Set(idsAt(page))
  return known.length === 0 || known.some((id) => shown.has(id))
}

/** Reads the parts of the list at a second that fills a page. A gap unless they show all rows of it. */
function* readSecond(reading: Reading, second: EpochSeconds, way: ScanDirection, around: TimeBounds): Requests<void> {
  const { partitions } = reading.list
  const isExclusive = reading.profile.inclusiveBounds[boundOf(way)] === false
  const outside = way === 'forward' ? second - 1 : second + 1
  const bounds = { ...around, [boundOf(way)]: isExclusive ? outside : second }
  let isComplete = partitions.length > 0
  for (const part of partitions) {
    const reply = yield* request(reading, bounds, { part })
    isComplete &&= reply.kind === 'page' && showsWholeSecond(reading, reply.page, second)
  }
  if (!isComplete) addGap(reading, { lo: second, hi: second }, 'timestampCollision')
}

function showsWholeSecond(reading: Reading, page: ScanPage, second: EpochSeconds): boolean {
  const [field = ''] = reading.profile.order?.fields ?? []
  const reachesBeyond = page.times.some((row) => (row.get(field) ?? second) !== second)
  // A service may show fewer rows than the documented most, and never set `hasMore`.
  const isFull = page.hasMore || isCut(reading, page) || page.ids.length >= pageSizesOf(reading.list).most
  return reachesBeyond || !isFull
}
