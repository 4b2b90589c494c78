/**
 * Reads the pending ranges of a list: decides which page to request next, and what a page proves.
 * Pure: a generator that yields requests and is given the replies.
 *
 * The idea: nothing about the service is assumed: not which time orders the list, from which end a
 * page is taken, whether bounds work or include their own second, whether `hasMore` is exact. A
 * page takes from a range only what it proves to be read. What is not proved stays pending, and is
 * committed with the rows, so a reading may end after any reply, and the next one goes on.
 *
 * The states of a range: pending (a `TimeRange` of the cursor), taken (no longer pending), or
 * missed (a gap says why). For the first one, ways to ask are tried in turn (`movesFor`): from its
 * lower end, from its upper end, without bounds. A page of it:
 *
 * - refutes the way (a bound is refused or ignored): the next one is tried;
 * - is whole: the range is taken (`finishRange`);
 * - is cut (`isCut`): its end is asked for (`findEnd`), and what it shows is taken (`leavePage`);
 * - ends within a second that has more rows than a page: parts of the list are read
 *   (`passCollision`), and what they do not show is a gap;
 * - cannot be read: smaller ones are asked for, then what is behind the row (`passUnreadable`).
 *
 * What pages show of the service is the profile (`PagingProfile`): it saves requests, and no row
 * depends on it. Where it could have been learned wrong, every reconcile learns it again.
 *
 * The invariant: a row that the service lists is mirrored, or within a pending range or a gap. For
 * each list of few rows and every behaviour, `every-small-list.test.ts` proves it, with every end
 * and every change between two requests; `limited-services.test.ts` where a service limits what can
 * be asked for; the simulator with the rest of a sync around it.
 */

import { addOlder, testBounds } from './bound-test.ts'
import { testEnd } from './end-test.ts'
import { boundsOf, movesFor, type TimeRange } from './list-cursor.ts'
import {
  conservativeOrder,
  isBoundIgnored,
  isCut,
  isOutside,
  middleSecond,
  repeatsRow,
  restAfterPage,
  showsNewRows,
} from './page-evidence.ts'
import type { RefusedParameter, ScanPage } from './page-protocol.ts'
import { findEnd, hidesTimelessRows, joinsEdge, type PageWay } from './page-side.ts'
import { request } from './page-size.ts'
import { boundOf, type Move } from './paging-profile.ts'
import { passCollision } from './pass-collision.ts'
import {
  isPlaceExpected,
  leadsToUnreadable,
  passKnownPlace,
  passUnreadable,
} from './pass-unreadable.ts'
import {
  addGap,
  createReading,
  finishRange,
  giveUpRange,
  observe,
  orderOf,
  type PageReply,
  type PageRequest,
  type Progress,
  type RangeQuery,
  type RangesToRead,
  type Reading,
  type Requests,
  replaceRange,
  setSupport,
  takeProgress,
} from './reading-state.ts'
import type { OrderObservation, ScanDirection } from './sort-order.ts'
import { narrowWindow, splitIntoWindows } from './time-windows.ts'
import { awaitProof, isProvenBy, isSamePage, setTaken, settleUnproven } from './unproven-page.ts'

export function* readRanges(options: RangesToRead): Generator<PageRequest, Progress, PageReply> {
  const reading = createReading(options)
  const tried = new Set<Move>()
  for (let range = nextRange(reading); range !== undefined; range = nextRange(reading)) {
    if (splitIntoWindows(reading, range)) continue
    const isUsable = (move: Move) =>
      move !== 'unbounded' || (reading.unproven === null && reading.misleading === null)
    const move = movesFor(range, reading.profile).find((way) => !tried.has(way) && isUsable(way))
    if (move === undefined) {
      if (reading.unreadable !== null)
        yield* passUnreadable(reading, range, reading.unreadable.error)
      else giveUpRange(reading, range, null)
    } else {
      tried.add(move)
      yield* readPage(reading, { range, move, bounds: boundsOf(move, range, reading.profile) })
    }
    if (reading.pending[0] === range) continue
    tried.clear()
    reading.unreadable = null
  }
  return takeProgress(reading)
}

function nextRange(reading: Reading): TimeRange | undefined {
  if (reading.pending.length === 0) settleUnproven(reading)
  return reading.pending[0]
}

/** Requests a page of the first pending range, and leaves what it does not prove. */
function* readPage(reading: Reading, query: RangeQuery): Requests<void> {
  const { range, move, bounds } = query
  if (isPlaceExpected(reading)) {
    reading.expectedPlaces = reading.expectedPlaces.slice(1)
    if (yield* passKnownPlace(reading, range, move)) return
  }
  const reply = yield* request(reading, bounds)
  if (reply.kind === 'refused') {
    if (reply.parameter !== 'unreadable') return applyRefusal(reading, query, reply.parameter)
    reading.unreadable = { error: reply.error }
    yield* passKnownPlace(reading, range, move, true)
    return
  }
  const { page } = reply
  if (move !== 'unbounded' && !isProvenBy(reading, page, bounds)) return
  if (reading.misleading && isSamePage(page, reading.misleading))
    return setSupport(reading, move, 'ignored')
  if (isBoundIgnored(page, bounds, reading.profile.order))
    return setSupport(reading, move, 'ignored')
  const isFirstOrder = reading.profile.order === null
  const { fit } = observe(reading, page, bounds)
  if (move === 'unbounded' && isFirstOrder && reading.profile.order !== null)
    awaitProof(reading, page)
  yield* testEnd(reading, query, page)
  const older = yield* testBounds(reading, query, page)
  // If only a bound shows any rows, nothing is taken.
  if (older?.hi !== null) yield* takePage(reading, query, page, fit)
  if (older !== null) addOlder(reading, older)
}

function* takePage(
  reading: Reading,
  query: RangeQuery,
  page: ScanPage,
  fit: OrderObservation['fit'],
): Requests<void> {
  const { range, move } = query
  if (!isCut(reading, page)) {
    if (move === 'unbounded') reading.unproven = null
    return finishRange(reading, range, page)
  }
  // Rows without times show no way on. A request with a bound may list the rows that have one.
  if (orderOf(reading, page) === null)
    return move === 'unbounded'
      ? addGap(reading, range, 'timeless')
      : giveUpRange(reading, range, page)
  if (fit === 'unordered') return yield* readUnordered(reading, range, page)
  yield* readCutPage(reading, query, page)
  if (move === 'unbounded') setTaken(reading, range)
}

/** A 400: a parameter is not known, or another one is required. */
function applyRefusal(
  reading: Reading,
  { move, bounds }: RangeQuery,
  parameter: RefusedParameter,
): void {
  const { profile, pending } = reading
  if (parameter === 'bound') setSupport(reading, move, 'refused')
  else if (parameter === 'missing bound') reading.profile = { ...profile, requiresBothBounds: true }
  else if (parameter === 'window') narrowWindow(reading, move, bounds)
  else reading.profile = { ...profile, support: { ...profile.support, limit: 'refused' } }
  // As new ranges, so that every way is tried again.
  reading.pending = pending.map((range) => ({ ...range }))
}

function* readCutPage(reading: Reading, query: RangeQuery, first: ScanPage): Requests<void> {
  const { range, move, bounds } = query
  const found = yield* findWay(reading, query, first)
  const { page, way } = found
  // The search may have shown that the service sets `hasMore`, so that this page has no more.
  if (!isCut(reading, page)) yield* testEnd(reading, query, page)
  if (!isCut(reading, page)) return finishRange(reading, range, page)
  if (leavePage(reading, query, found)) return
  if (page.times.some((row) => isOutside(row, bounds, reading.profile.order)))
    return setSupport(reading, move, 'ignored')
  if (way === null || way !== move) return
  // So small a page may have no room beside the rows that overlap.
  if (reading.smallerPage === null) yield* passCollision(reading, { range, way, bounds }, page)
  else yield* passNextRow(reading, query, { page, way })
}

/** `page`: as many rows as can be read at the edge, all of which are known. */
function* passNextRow(
  reading: Reading,
  query: RangeQuery,
  { page, way }: { readonly page: ScanPage; readonly way: ScanDirection },
): Requests<void> {
  const { range, bounds } = query
  const { smallerPage } = reading
  reading.lastPage = { range, way, page }
  const rows = page.ids.length + 1
  if (rows !== smallerPage?.tooMany) {
    const reply = yield* request(reading, bounds, { limit: rows })
    if (reply.kind === 'page') {
      reading.smallerPage = smallerPage && { ...smallerPage, rows }
      if (leavePage(reading, query, { page: reply.page, way })) return
    }
  }
  if (!(yield* passKnownPlace(reading, range, way, true)))
    yield* passUnreadable(reading, range, smallerPage?.error, [way])
}

/**
 * A page that repeats a row of the page before leads on, whichever end pages are taken from. Else
 * that end decides; if the row at the edge has moved, or the edge is not the sort time, half a page
 * of overlap.
 */
function* findWay(reading: Reading, query: RangeQuery, first: ScanPage): Requests<PageWay> {
  const { range, move, bounds } = query
  const asked = move === 'unbounded' ? null : move
  const isEdgeSeen = asked === 'forward' ? range.seenLo : asked === 'backward' && range.seenHi
  const { lastPage } = reading
  // Null: an earlier run read up to the edge.
  const before =
    isEdgeSeen && lastPage?.range === range && lastPage.way === asked ? lastPage.page : null
  if (before !== null && repeatsRow(first, before)) return { page: first, way: asked }
  const known = reading.profile.ways[move]
  const found =
    known === null ? yield* findEnd(reading, move, bounds, first) : { page: first, way: known }
  const { page } = found
  if (
    found.way === null &&
    asked !== null &&
    (yield* leadsToUnreadable(reading, range, asked, page))
  )
    return { page, way: asked }
  const { way } = found
  const order = orderOf(reading, page)
  if (asked === null && isCut(reading, page) && hidesTimelessRows(found, order))
    addGap(reading, range, 'timeless')
  if (!isEdgeSeen || asked === null || order === null || (way !== null && way !== asked))
    return found
  if (before === null ? joinsEdge(asked, range, found, order) : repeatsRow(page, before))
    return { page, way: asked }
  if (before !== null) return yield* widenOverlap(reading, asked, range, before, found)
  // Whether the pages still begin at the edge is asked anew, if it was not just asked.
  return known === null ? found : yield* findEnd(reading, move, bounds, page)
}

/** `found`: the page that does not overlap the one before. */
function* widenOverlap(
  reading: Reading,
  way: ScanDirection,
  { lo, hi }: TimeRange,
  before: ScanPage,
  found: PageWay,
) {
  const order = orderOf(reading, found.page)
  if (order === null) return found
  const middle = middleSecond(way, order, before.times) ?? lo
  const wider =
    way === 'forward'
      ? { lo: Math.min(lo, middle), hi }
      : { lo, hi: hi === null ? null : Math.max(hi, middle) }
  const bounds = boundsOf(way, wider, reading.profile)
  const reply = yield* request(reading, bounds)
  if (reply.kind === 'refused') return found
  observe(reading, reply.page, bounds)
  if (repeatsRow(reply.page, before)) return { page: reply.page, way }
  if (found.way !== null) addGap(reading, wider, 'discontiguous')
  return found
}

/** Takes from the range what the page proves to be read. False: nothing. */
function leavePage(reading: Reading, { range, move }: RangeQuery, { page, way }: PageWay): boolean {
  const before =
    move !== 'unbounded' && reading.lastPage?.range === range ? reading.lastPage.page : null
  // The same rows again lead nowhere, whatever their times say.
  if (before !== null && !showsNewRows(page, before)) return false
  const order = orderOf(reading, page)
  if (order === null) return false
  // Without a way, the rows of the page are all there are between its first and last, and both
  // sides are left.
  const ways = way === null ? (['forward', 'backward'] as const) : [way]
  const rests = ways.map((each) => restAfterPage(each, range, order, page.times))
  const [first] = rests
  if (first == null || rests.includes(null)) return false
  const { profile } = reading
  if (way !== null && way === move && profile.support[boundOf(way)] === 'unknown')
    setSupport(reading, way, 'honoured')
  // What is left first may be behind the other end of the page.
  const isFirstLeft = first.rest !== null
  const left = rests.flatMap((it) => it?.rest ?? [])
  replaceRange(reading, left, page, isFirstLeft ? ways[0] : ways.at(-1))
  return true
}

/**
 * Rows in the order of none of their times may be in that of one that they do not show. The next
 * page then has to repeat the last row; else rows between the two may be missing.
 */
function* readUnordered(reading: Reading, start: TimeRange, first: ScanPage): Requests<void> {
  let range = start
  let page = first
  for (let isReported = false; ; ) {
    const order = conservativeOrder(page.times)
    const rest = order && restAfterPage('forward', range, order, page.times)?.rest
    const isUsable = movesFor(range, reading.profile).includes('forward')
    const bounds = rest ? boundsOf('forward', rest, reading.profile) : {}
    const reply = rest && isUsable ? yield* request(reading, bounds) : null
    const next =
      reply?.kind === 'page' && !isBoundIgnored(reply.page, bounds, reading.profile.order)
        ? reply.page
        : null
    if (!isReported && !next?.ids.includes(page.ids.at(-1) ?? '')) {
      addGap(reading, start, 'unordered')
      isReported = true
    }
    if (!rest || next === null) return replaceRange(reading, [], page)
    replaceRange(reading, [rest], page, 'forward')
    const { fit } = observe(reading, next, bounds)
    if (!isCut(reading, next)) return finishRange(reading, rest, next)
    if (fit !== 'unordered') return
    ;[range, page] = [rest, next]
  }
}
