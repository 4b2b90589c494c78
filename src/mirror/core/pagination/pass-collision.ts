/**
 * Moves past a second with more rows than a page: reads its parts, and what is missing is a gap.
 */

import type { EpochSeconds } from '../../../values/time.ts'
import type { TimeRange } from './list-cursor.ts'
import {
  edgeSecond,
  isCut,
  isOutside,
  middleSecond,
  rangeBeyondEdge,
  restAfterPage,
  showsNewRows,
} from './page-evidence.ts'
import type { ScanPage } from './page-protocol.ts'
import { request } from './page-size.ts'
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
  setSupport,
} from './reading-state.ts'
import { maxOf, minOf, type ScanDirection, sortTimesOf, type TimeBounds } from './sort-order.ts'

/** `bounds`: of a request from there, which overlaps what was read by a second. */
type Edge = { readonly range: TimeRange; readonly way: ScanDirection; readonly bounds: TimeBounds }

/** `stuck`: a page that fills the edge. */
export function* passCollision(reading: Reading, edge: Edge, stuck: ScanPage): Requests<void> {
  const { range, way, bounds } = edge
  const bound = boundOf(way)
  const second = edgeSecond(way, range)
  if (yield* leaveByOtherTime(reading, edge, stuck)) return
  // With fewer candidates, the edge is where the others see it.
  if ((yield* refuteCandidates(reading, edge, stuck)) && leaveEdge(reading, range, way, stuck))
    return
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
      reading.profile = {
        ...profile,
        inclusiveBounds: { ...profile.inclusiveBounds, [bound]: false },
      }
      yield* readSecond(reading, second, edge, stuck)
    }
    if (!isCut(reading, page)) return finishRange(reading, range, page)
    if (showsNewRows(page, stuck) && leaveEdge(reading, range, way, page)) return
  }
  yield* readBeyond(reading, edge, stuck)
}

/**
 * Another time may order the rows that share this second: a bound amid those times then shows the
 * later rows and not the earlier ones.
 */
function* leaveByOtherTime(
  reading: Reading,
  { range, way, bounds }: Edge,
  stuck: ScanPage,
): Requests<boolean> {
  const order = orderOf(reading, stuck)
  const middle =
    order && middleSecond(way === 'forward' ? 'backward' : 'forward', order, stuck.times)
  if (order === null || order.fields.length < 2 || middle == null) return false
  const isPast = (at: EpochSeconds) => (way === 'forward' ? at > middle : at < middle)
  const before = new Set<string>()
  const past = new Set<string>()
  for (const [i, id] of stuck.ids.entries()) {
    const times = sortTimesOf(stuck.times[i] ?? new Map(), order)
    if (times.some(isPast)) past.add(id)
    else if (!times.includes(middle)) before.add(id)
  }
  if (before.size === 0 || past.size === 0) return false
  const amid = { ...bounds, [boundOf(way)]: middle }
  const reply = yield* request(reading, amid)
  if (reply.kind === 'refused') return false
  const { ids } = reply.page
  if (!ids.some((id) => past.has(id)) || ids.some((id) => before.has(id))) return false
  observe(reading, reply.page, amid)
  return leaveEdge(reading, range, way, stuck)
}

/**
 * If the rows of a second also share their other times, as calls of one duration do, a bound beyond
 * the nearest one tells which of them orders the list: it hides these rows if it compares that
 * time.
 */
function* refuteCandidates(
  reading: Reading,
  { range, way, bounds }: Edge,
  stuck: ScanPage,
): Requests<boolean> {
  const order = orderOf(reading, stuck)
  if (order === null || order.fields.length < 2) return false
  const bound = boundOf(way)
  const step = way === 'forward' ? 1 : -1
  const beyond = { ...bounds, [bound]: edgeSecond(way, range) + step }
  const reply = yield* request(reading, beyond)
  if (reply.kind === 'refused') return false
  const { page } = reply
  if (page.times.some((row) => isOutside(row, beyond, order))) return false
  const isShown = page.ids.length > 0 && !showsNewRows(page, stuck)
  const isHidden = !isCut(reading, page) && !page.ids.some((id) => stuck.ids.includes(id))
  if (!isShown && !isHidden) return false
  // The bound itself may be excluded.
  const inside = isShown ? beyond : { ...beyond, [bound]: edgeSecond(way, range) + 2 * step }
  const fits = (field: string) => {
    const isInside = stuck.times.map(
      (row) => !isOutside(row, inside, { ...order, fields: [field] }),
    )
    return isShown ? isInside.every(Boolean) : !isInside.some(Boolean)
  }
  const fields = order.fields.filter(fits)
  if (fields.length === 0 || fields.length === order.fields.length) return false
  reading.profile = { ...reading.profile, order: { ...order, fields } }
  return true
}

/** The second is full: what follows it is requested without overlap. */
function* readBeyond(reading: Reading, edge: Edge, stuck: ScanPage): Requests<void> {
  const { range: full, way, bounds } = edge
  const bound = boundOf(way)
  for (let range = full; ; ) {
    const second = edgeSecond(way, range)
    yield* readSecond(reading, second, edge, stuck)
    const rest = rangeBeyondEdge(way, range)
    if (rest === null) return replaceRange(reading, [], null)
    const isExclusive = reading.profile.inclusiveBounds[bound] === false
    const next = { ...bounds, [bound]: isExclusive ? second : edgeSecond(way, rest) }
    const reply = yield* request(reading, next)
    if (reply.kind === 'refused') return giveUpRange(reading, rest, null)
    const { page } = reply
    replaceRange(reading, [rest], null)
    // The bound has no effect, so no request leads beyond this second.
    const isIgnored = page.times.some((row) => isOutside(row, next, reading.profile.order))
    if (isIgnored || (page.ids.length > 0 && !showsNewRows(page, stuck)))
      return giveUpRange(reading, rest, page)
    observe(reading, page, next)
    if (!isCut(reading, page)) return finishRange(reading, rest, page)
    const order = orderOf(reading, page)
    const isBeyond = (at: EpochSeconds) => (way === 'forward' ? at > second : at < second)
    if (order === null || !page.times.some((row) => sortTimesOf(row, order).some(isBeyond)))
      return giveUpRange(reading, rest, page)
    if (leaveEdge(reading, rest, way, page)) return
    range = rest
  }
}

function leaveEdge(
  reading: Reading,
  range: TimeRange,
  way: ScanDirection,
  page: ScanPage,
): boolean {
  const order = orderOf(reading, page)
  const left = order === null ? null : restAfterPage(way, range, order, page.times)
  if (left === null) return false
  replaceRange(reading, left.rest === null ? [] : [left.rest], page, way)
  return true
}

/** The page repeats a row of that second, so it begins with the rest of them. */
function repeatsSecond(
  reading: Reading,
  before: ScanPage,
  page: ScanPage,
  second: EpochSeconds,
): boolean {
  const fields = orderOf(reading, before)?.fields ?? []
  const idsAt = ({ ids, times }: ScanPage) =>
    ids.filter((_, i) => fields.some((field) => times[i]?.get(field) === second))
  const known = idsAt(before)
  // A row that has moved meanwhile is no repetition.
  const shown = new Set(idsAt(page))
  return known.length === 0 || known.some((id) => shown.has(id))
}

/** Reads the parts of the list at that second. A gap unless they show all of its rows. */
function* readSecond(
  reading: Reading,
  second: EpochSeconds,
  edge: Edge,
  stuck: ScanPage,
): Requests<void> {
  const { way, bounds: around } = edge
  const { partitions } = reading.list
  const isExclusive = reading.profile.inclusiveBounds[boundOf(way)] === false
  const outside = way === 'forward' ? second - 1 : second + 1
  const bounds = { ...around, [boundOf(way)]: isExclusive ? outside : second }
  let isComplete = partitions.length > 0
  for (const part of partitions) {
    const reply = yield* request(reading, bounds, { part })
    isComplete &&= reply.kind === 'page' && showsWholeSecond(reading, reply.page, second)
  }
  if (!isComplete) addGap(reading, timesAt(reading, second, stuck), 'timestampCollision')
}

/** The second, and every other time that its rows share, as the list may be sorted by that one. */
function timesAt({ profile }: Reading, second: EpochSeconds, { times }: ScanPage): TimeRange {
  const rows = times.filter((row) => sortTimesOf(row, profile.order).includes(second))
  const shared = (profile.order?.fields ?? []).flatMap((field) => {
    const [first, ...others] = new Set(rows.map((row) => row.get(field)))
    return first === undefined || others.length > 0 ? [] : [first]
  })
  return { lo: minOf([second, ...shared]) ?? second, hi: maxOf([second, ...shared]) ?? second }
}

function showsWholeSecond(reading: Reading, page: ScanPage, second: EpochSeconds): boolean {
  const [field = ''] = reading.profile.order?.fields ?? []
  const reachesBeyond = page.times.some((row) => (row.get(field) ?? second) !== second)
  // A service may show fewer rows than the documented most, and never set `hasMore`.
  const isFull =
    page.hasMore ||
    isCut(reading, page) ||
    page.ids.length >= (reading.smallerPage?.rows ?? pageSizesOf(reading.list).most)
  return reachesBeyond || !isFull
}
