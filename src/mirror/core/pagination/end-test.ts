/**
 * Whether rows follow a page, where `hasMore` does not tell: a service may set it always or never,
 * and its pages may be smaller than documented. A request beyond the rows of the page shows it.
 */
import { clockToleranceSeconds } from '../../../values/time.ts'
import { farFuture, mayWork } from './list-cursor.ts'
import { fullSizes, isBoundIgnored, isCut, isOutside, showsNewRows } from './page-evidence.ts'
import type { ScanPage } from './page-protocol.ts'
import { request } from './page-size.ts'
import { pageSizesOf } from './paging-profile.ts'
import {
  ignoreLimit,
  orderOf,
  type RangeQuery,
  type Reading,
  type Requests,
  setSupport,
} from './reading-state.ts'
import { maxOf, minOf, type ScanDirection, type TimeBounds, timesOf } from './sort-order.ts'

/** The numbers at which services cut pages, unless they say that more rows follow. */
const roundRows = 5
const fewestRoundRows = 10
/** A list may by chance have as many rows as a page holds, but not so many lists. */
const testsOfSize = 3

export function* testEnd(reading: Reading, query: RangeQuery, page: ScanPage): Requests<void> {
  if (mayHasMoreBeWrong(reading, page)) yield* testHasMore(reading, query, page)
  if (mayBeCutSilently(reading, page)) yield* testSize(reading, query, page)
}

/**
 * An empty page with `hasMore` proves that it is set always; but only beyond all times, as a
 * service may cut a page and then leave out all of its rows (deleted ones, spam).
 */
function* testHasMore(reading: Reading, query: RangeQuery, page: ScanPage): Requests<void> {
  reading.isHasMoreTested = true
  for (const { way, bounds } of waysBeyond(reading, query, page)) {
    const beyond = yield* requestBeyond(reading, way, bounds)
    if (beyond === null || (beyond.ids.length > 0 && beyond.hasMore)) continue
    if (beyond.hasMore) {
      const at = way === 'forward' ? farFuture : 0
      const { requiresBothBounds } = reading.profile
      const last = yield* request(reading, {
        lower: way === 'forward' || requiresBothBounds ? at : undefined,
        upper: way === 'backward' || requiresBothBounds ? at : undefined,
      })
      if (last.kind !== 'page' || last.page.ids.length > 0 || !last.page.hasMore) continue
    }
    reading.profile = { ...reading.profile, isHasMoreReliableIfShort: !beyond.hasMore }
    return
  }
}

function* testSize(reading: Reading, query: RangeQuery, page: ScanPage): Requests<void> {
  const { testedPages } = reading
  const size = page.ids.length
  const count = size > testedPages.rows ? 0 : testedPages.count
  if (size >= testedPages.rows) Object.assign(testedPages, { rows: size, count: count + 1 })
  const isAsked = page.hasMore || reading.profile.setsHasMore || testedPages.isSingleAsked
  testedPages.isSingleAsked ||= !isAsked
  if (!isAsked && (yield* setsHasMore(reading, query)) && !mayCompare(reading, size)) return
  for (const { way, bounds } of waysBeyond(reading, query, page, 0)) {
    const beyond = yield* requestBeyond(reading, way, bounds)
    if (beyond === null || !showsEarlierRows(reading, beyond, page)) continue
    return setCut(reading, page)
  }
  const { profile, list } = reading
  const { lower, upper } = profile.support
  // Where no documented bound works, only the number speaks.
  if (list.isDocumented && isRound(size) && !mayWork(lower) && !mayWork(upper))
    return setCut(reading, page)
  reading.profile = { ...profile, largestPage: Math.max(profile.largestPage, size) }
}

function setCut(reading: Reading, page: ScanPage): void {
  const { profile } = reading
  reading.cutPage = page
  reading.profile = {
    ...profile,
    listedAtMost: Math.max(profile.listedAtMost ?? 0, page.ids.length),
  }
}

const isRound = (rows: number): boolean => rows >= fewestRoundRows && rows % roundRows === 0

/** Whether it does so on a page of a single row, as others follow that. */
function* setsHasMore(reading: Reading, { bounds }: RangeQuery): Requests<boolean> {
  const { profile } = reading
  if (!mayWork(profile.support.limit)) return false
  const single = yield* request(reading, bounds, { limit: 1 })
  if (single.kind === 'refused') return false
  const { ids, hasMore } = single.page
  if (ids.length > 1) ignoreLimit(reading)
  else reading.profile = { ...profile, setsHasMore: hasMore }
  return reading.profile.setsHasMore
}

function* requestBeyond(
  reading: Reading,
  way: ScanDirection,
  bounds: TimeBounds,
): Requests<ScanPage | null> {
  const reply = yield* request(reading, bounds)
  if (reply.kind === 'refused') {
    if (reply.parameter === 'bound') setSupport(reading, way, 'refused')
    return null
  }
  const { order } = reading.profile
  if (isBoundIgnored(reply.page, bounds, order)) setSupport(reading, way, 'ignored')
  return reply.page.times.some((row) => isOutside(row, bounds, order)) ? null : reply.page
}

/** `hasMore` on a page too small to be cut. Asked once, and where the page leads nowhere. */
function mayHasMoreBeWrong(reading: Reading, page: ScanPage): boolean {
  const { profile, isHasMoreTested, lastPage } = reading
  const isShort = page.hasMore && page.ids.length < fullSizes(reading).usual
  if (!isShort || profile.isHasMoreReliableIfShort !== null) return false
  if (!isHasMoreTested) return true
  const { first, last } = spanOf(reading, page)
  return lastPage !== null && (first === last || !showsNewRows(page, lastPage.page))
}

/**
 * Whether `hasMore` may compare this number of rows with `limit`: any number of ten or more in the
 * lists of a project, which are few, unless full pages have it.
 */
const mayCompare = ({ list, profile }: Reading, size: number): boolean => {
  const isOfProject = list.isDocumented && list.lowerParam !== null
  return isRound(size) || (isOfProject && size >= fewestRoundRows && !profile.setsHasMoreIfFull)
}

/**
 * `hasMore` says nothing on one of the largest pages, or may compare their number with `limit`.
 * Where pages were cut before, the others may lack rows that were left out after cutting.
 */
function mayBeCutSilently(reading: Reading, page: ScanPage): boolean {
  const { profile, smallerPage, testedPages, list } = reading
  const size = page.ids.length
  const knownCut = profile.listedAtMost ?? 0
  if (smallerPage !== null || isCut(reading, page)) return false
  if (size < (page.hasMore ? 1 : 2) || size > pageSizesOf(list).most) return false
  const isTold = profile.setsHasMore && !page.hasMore
  if (isTold && !mayCompare(reading, size)) return false
  const isNearCut = knownCut > 0 && size >= knownCut / 2
  const tests = isTold ? 1 : testsOfSize
  const isEqual = size === testedPages.rows && testedPages.count < tests
  return isNearCut || size > testedPages.rows || isEqual
}

/** Rows that were there when the page was requested, and are not on it. */
function showsEarlierRows({ profile }: Reading, beyond: ScanPage, page: ScanPage): boolean {
  const latest = page.cursorLimit - clockToleranceSeconds
  return beyond.times.some(
    (row, i) =>
      !page.ids.includes(beyond.ids[i] ?? '') &&
      (profile.order?.fields ?? [...row.keys()]).every((field) => (row.get(field) ?? 0) <= latest),
  )
}

/**
 * Behind the newest row of the page, and before its oldest one, within what was asked for. `step`:
 * seconds beyond; 0 if rows may follow within their second.
 */
function waysBeyond(
  reading: Reading,
  { move, bounds }: RangeQuery,
  page: ScanPage,
  step: 0 | 1 = 1,
) {
  const { support, ways } = reading.profile
  if (page.ids.length === 0) return []
  // Beyond rows without any time are all that have one.
  const { first = farFuture, last = 0 } = spanOf(reading, page)
  // A page within one second would only be shown again.
  const distance = first === last ? 1 : step
  const isOpen = (way: ScanDirection) => ways[move] === null || ways[move] === way
  const oldest = bounds.lower ?? 0
  const newest = bounds.upper ?? farFuture
  const forward = { way: 'forward' as const, bounds: { ...bounds, lower: last + distance } }
  const backward = { way: 'backward' as const, bounds: { ...bounds, upper: first - distance } }
  const beyond = [
    ...(mayWork(support.lower) && isOpen('forward') && last < newest ? [forward] : []),
    ...(mayWork(support.upper) && isOpen('backward') && first > oldest ? [backward] : []),
  ]
  return move === 'backward' ? beyond.reverse() : beyond
}

/** By all times that may order the list. */
function spanOf(reading: Reading, page: ScanPage) {
  const all = (orderOf(reading, page)?.fields ?? []).flatMap((field) => timesOf(page.times, field))
  return { first: minOf(all), last: maxOf(all) }
}
