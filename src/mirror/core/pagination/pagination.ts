/**
 * Reads the pending ranges of a list: decides which page to request next, and what a page proves. Pure: a generator that
 * yields requests and is given the replies.
 *
 * It assumes nothing about the service: which time orders the list, from which end a page is taken, whether bounds work or
 * include their own second, whether `hasMore` is exact. A page takes from a range only what it proves to be read. What is
 * not proven stays pending, and is committed as such, so a reading may end after any response.
 */

import { findEnd, hidesTimelessRows, orderOf, testHasMore } from './list-end.ts'
import {
  conservativeOrder,
  isBoundIgnored,
  isCut,
  isOutside,
  isShortPage,
  joinsEdge,
  middleSecond,
  restAfterPage,
  showsNewRows,
} from './page-evidence.ts'
import type { RefusedParameter, ScanPage } from './page-exchange.ts'
import {
  emptyProfile,
  type ListEnd,
  type ListEndpoint,
  type PagingProfile,
  type ScanDirection,
} from './paging-profile.ts'
import { passCollision } from './pass-collision.ts'
import { boundsOf, type Move, movesFor, type PendingRanges, shapeOf, type TimeRange } from './pending-ranges.ts'
import {
  addGap,
  awaitProof,
  createReading,
  finishRange,
  giveUpRange,
  isProvenBy,
  isSamePage,
  observe,
  type PageReply,
  type PageRequest,
  type Progress,
  pageBefore,
  type Reading,
  type Requests,
  replaceRange,
  request,
  setSupport,
  setTaken,
  settleUnproven,
  takeProgress,
} from './reading-state.ts'
import type { SortOrder, TimeBounds } from './sort-order.ts'

export type RangesToRead = {
  readonly list: ListEndpoint
  /** What earlier runs learned; null = nothing. */
  readonly profile: PagingProfile | null
  readonly ranges: PendingRanges
  /** False: the service sets `hasMore` on an empty page, too; null = not known yet. */
  readonly isHasMoreReliableIfEmpty?: boolean | null
}

/** Returns what is to be committed with the rows of the last response. */
export function* readRanges(options: RangesToRead): Generator<PageRequest, Progress, PageReply> {
  const reading = createReading(options.profile ?? emptyProfile(options.list), options)
  const tried = new Set<Move>()
  for (let range = nextRange(reading); range !== undefined; range = nextRange(reading)) {
    const isUsable = (move: Move) => move !== 'unbounded' || (reading.unproven === null && reading.misleading === null)
    const move = movesFor(range, reading.profile).find((way) => !tried.has(way) && isUsable(way))
    if (move === undefined) {
      giveUpRange(reading, range, null)
    } else {
      tried.add(move)
      yield* readPage(reading, range, move)
    }
    if (reading.pending[0] !== range) tried.clear()
  }
  return takeProgress(reading)
}

function nextRange(reading: Reading): TimeRange | undefined {
  if (reading.pending.length === 0) settleUnproven(reading)
  return reading.pending[0]
}

/** Requests a page of the first pending range, and leaves what it does not prove. */
function* readPage(reading: Reading, range: TimeRange, move: Move): Requests<void> {
  const bounds = boundsOf(move, range, reading.profile)
  const reply = yield* request(reading, bounds)
  if (reply.kind === 'refused') return applyRefusal(reading, move, reply.parameter)
  const { page } = reply
  if (move !== 'unbounded' && !isProvenBy(reading, page, bounds)) return
  if (reading.misleading && isSamePage(page, reading.misleading)) return setSupport(reading, move, 'ignored')
  if (isBoundIgnored(page, bounds, reading.profile.order)) return setSupport(reading, move, 'ignored')
  const isFirstOrder = reading.profile.order === null
  const { fit } = observe(reading, page, bounds)
  if (move === 'unbounded' && isFirstOrder && reading.profile.order !== null) awaitProof(reading, page)
  if (isShortPage(reading.list, page)) yield* testHasMore(reading, page, move)
  if (!isCut(reading.list, reading.profile, page)) {
    if (move === 'unbounded') reading.unproven = null
    return finishRange(reading, range, page)
  }
  const order = orderOf(reading, page)
  if (order === null) return handleTimelessPage(reading, range, move, page)
  if (fit === 'unordered') return yield* readUnordered(reading, range, page)
  yield* readCutPage(reading, range, move, bounds, page)
  if (move === 'unbounded') setTaken(reading, range)
}

/** A page of rows without times shows no way on. A request with a bound may list the rows that have one. */
function handleTimelessPage(reading: Reading, range: TimeRange, move: Move, page: ScanPage): void {
  if (move === 'unbounded') addGap(reading, range, 'timeless')
  else giveUpRange(reading, range, page)
}

/** A 400: the service does not know a parameter, or requires another one. */
function applyRefusal(reading: Reading, move: Move, parameter: RefusedParameter): void {
  const { profile, pending } = reading
  if (parameter === 'bound') setSupport(reading, move, 'refused')
  else if (parameter === 'missing bound') reading.profile = { ...profile, requiresBothBounds: true }
  else reading.profile = { ...profile, support: { ...profile.support, limit: 'refused' } }
  // As new ranges, so that every way is tried again.
  reading.pending = pending.map((range) => ({ ...range }))
}

function* readCutPage(
  reading: Reading,
  range: TimeRange,
  move: Move,
  bounds: TimeBounds,
  first: ScanPage,
): Requests<void> {
  const { page, way } = yield* findWay(reading, range, move, bounds, first)
  // The search for the end may have shown that the service sets `hasMore`, and that this page has no more.
  if (!isCut(reading.list, reading.profile, page)) return finishRange(reading, range, page)
  if (leavePage(reading, range, move, page, way)) return
  if (page.times.some((row) => isOutside(row, bounds, reading.profile.order)))
    return setSupport(reading, move, 'ignored')
  if (way !== null && way === move) yield* passCollision(reading, range, way, bounds, page)
}

/** `way`: the direction in which the page leads from an end of its range; null = it does not show. */
type PageWay = { readonly page: ScanPage; readonly way: ScanDirection | null }

/**
 * A page that repeats a row of the page before leads on, whichever end pages are taken from. Otherwise that end decides; and
 * if the row at the edge has moved, or the edge is not the sort time, half a page of overlap.
 */
function* findWay(
  reading: Reading,
  range: TimeRange,
  move: Move,
  bounds: TimeBounds,
  first: ScanPage,
): Requests<PageWay> {
  const isEdgeSeen = move === 'forward' ? range.seenLo : move === 'backward' && range.seenHi
  const before = move === 'unbounded' || !isEdgeSeen ? null : pageBefore(reading, range, move)
  const joins = (page: ScanPage, isEndKnown: boolean) => {
    const order = orderOf(reading, page)
    return move !== 'unbounded' && order !== null && joinsEdge(move, range, page, order, { before, isEndKnown })
  }
  if (before !== null && joins(first, false)) return { page: first, way: toWay(move) }
  const known = reading.profile.ends[shapeOf[move]]
  const { end, page } = known === null ? yield* findEnd(reading, move, bounds, first) : { end: known, page: first }
  if (
    move === 'unbounded' &&
    isCut(reading.list, reading.profile, page) &&
    hidesTimelessRows(page, orderOf(reading, page), end)
  )
    addGap(reading, range, 'timeless')
  const found = { page, way: wayOf(end) }
  if (!isEdgeSeen || (end !== null && wayOf(end) !== move)) return found
  if (joins(page, end !== null)) return { page, way: toWay(move) }
  if (before !== null) return yield* widenOverlap(reading, range, move, before, found, joins)
  // An earlier run read up to this edge. Whether the pages still begin there is asked anew, if it was not just asked.
  if (known === null) return found
  const again = yield* findEnd(reading, move, bounds, page)
  return { page: again.page, way: wayOf(again.end) }
}

/** Repeats the request with half of the page before it. `found`: the page that does not overlap it. */
function* widenOverlap(
  reading: Reading,
  range: TimeRange,
  move: Move,
  before: ScanPage,
  found: PageWay,
  joins: (page: ScanPage, isEndKnown: boolean) => boolean,
): Requests<PageWay> {
  const order = orderOf(reading, found.page)
  const way = toWay(move)
  if (order === null || way === null) return found
  const wider = widerRange(way, range, order, before)
  const bounds = boundsOf(move, wider, reading.profile)
  const reply = yield* request(reading, bounds)
  if (reply.kind === 'refused') return found
  observe(reading, reply.page, bounds)
  if (joins(reply.page, false)) return { page: reply.page, way }
  if (found.way !== null) addGap(reading, wider, 'discontiguous')
  return found
}

function toWay(move: Move): ScanDirection | null {
  return move === 'unbounded' ? null : move
}

function wayOf(end: ListEnd | null): ScanDirection | null {
  return end === null ? null : end === 'oldest' ? 'forward' : 'backward'
}

/** The range with half of the page before it included again. */
function widerRange(way: ScanDirection, { lo, hi }: TimeRange, order: SortOrder, before: ScanPage): TimeRange {
  const middle = middleSecond(way, order, before.times) ?? lo
  return way === 'forward' ? { lo: Math.min(lo, middle), hi } : { lo, hi: hi === null ? null : Math.max(hi, middle) }
}

/** Takes from the range what the page proves to be read. False: nothing. */
function leavePage(reading: Reading, range: TimeRange, move: Move, page: ScanPage, way: ScanDirection | null): boolean {
  const before = move !== 'unbounded' && reading.lastPage?.range === range ? reading.lastPage.page : null
  // The same rows again lead nowhere, whatever their times say.
  if (before !== null && !showsNewRows(page, before)) return false
  const order = orderOf(reading, page)
  const rests = order === null ? null : restsAfter(range, way, order, page, way === move)
  if (rests === null) return false
  const { profile } = reading
  // At the end of a list no time advances, which says nothing about the order.
  if (profile.order !== null && !isShortPage(reading.list, page)) reading.profile = { ...profile, order: rests.order }
  if (way === move && profile.support[shapeOf[move]] === 'unknown') setSupport(reading, move, 'honoured')
  replaceRange(reading, rests.ranges, page, way ?? 'forward')
  return true
}

type Rests = { readonly order: SortOrder; readonly ranges: readonly TimeRange[] }

/** `way` null: the rows of the page are all there are between its first and last, and both sides are left. */
function restsAfter(
  range: TimeRange,
  way: ScanDirection | null,
  order: SortOrder,
  page: ScanPage,
  isAtEdge: boolean,
): Rests | null {
  const ways: readonly ScanDirection[] = way === null ? ['forward', 'backward'] : [way]
  const found = ways.map((each) => restAfterPage(each, range, order, page.times, { isAtEdge }))
  const [first] = found
  if (first == null || found.includes(null)) return null
  return { order: first.order, ranges: found.flatMap((it) => it?.rest ?? []) }
}

/**
 * Rows that are sorted by none of their times may be sorted by one that they do not show. Then the next page has to repeat
 * the last row; otherwise rows between the two may be missing.
 */
function* readUnordered(reading: Reading, start: TimeRange, first: ScanPage): Requests<void> {
  let [range, page] = [start, first]
  for (let isReported = false; ; ) {
    const order = conservativeOrder(page.times)
    const rest = order && restAfterPage('forward', range, order, page.times, { isAtEdge: true })?.rest
    const isUsable = movesFor(range, reading.profile).includes('forward')
    const bounds = rest ? boundsOf('forward', rest, reading.profile) : {}
    const reply = rest && isUsable ? yield* request(reading, bounds) : null
    const next =
      reply?.kind === 'page' && !isBoundIgnored(reply.page, bounds, reading.profile.order) ? reply.page : null
    if (!isReported && !next?.ids.includes(page.ids.at(-1) ?? '')) {
      addGap(reading, start, 'unordered')
      isReported = true
    }
    if (!rest || next === null) return replaceRange(reading, [], page)
    replaceRange(reading, [rest], page, 'forward')
    const { fit } = observe(reading, next, bounds)
    if (!isCut(reading.list, reading.profile, next)) return finishRange(reading, rest, next)
    if (fit !== 'unordered') return
    ;[range, page] = [rest, next]
  }
}
