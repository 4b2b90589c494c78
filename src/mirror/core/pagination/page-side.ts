/** What a page shows only beside another one: from which end of the list it was taken. */
import type { EpochSeconds } from '../../../values/time.ts'
import { mayWork, type TimeRange } from './list-cursor.ts'
import { edgeSecond, isCut, isOutside, middleSecond } from './page-evidence.ts'
import type { ScanPage } from './page-protocol.ts'
import { request } from './page-size.ts'
import type { Move } from './paging-profile.ts'
import { ignoreLimit, observe, orderOf, type Reading, type Requests } from './reading-state.ts'
import {
  completeTo,
  countSteps,
  maxOf,
  minConclusiveRows,
  minOf,
  type RowTimes,
  type ScanDirection,
  type SortOrder,
  type TimeBounds,
  timesOf,
} from './sort-order.ts'

/** `way`: where the page leads; null = unknown. `page`: the last response to its request. */
export type PageWay = { readonly page: ScanPage; readonly way: ScanDirection | null }

/** How often a page is requested again because the list changed meanwhile. */
const maxAttempts = 3

/** `way` null: no request can show it. Stores what it finds. */
export function* findEnd(
  reading: Reading,
  move: Move,
  bounds: TimeBounds,
  first: ScanPage,
): Requests<PageWay> {
  const found = yield* compareWithSingleRow(reading, bounds, first)
  const isOpen =
    found.way === null && (bounds.upper === undefined || bounds.upper > reading.newestSeen)
  const isUndecided = isOpen && isCut(reading, found.page)
  const witnessed = isUndecided ? yield* findByWitness(reading, found.page) : found.way
  const way =
    witnessed === null && isUndecided ? yield* findByHalf(reading, bounds, found.page) : witnessed
  const { profile } = reading
  if (way !== null) reading.profile = { ...profile, ways: { ...profile.ways, [move]: way } }
  return { ...found, way }
}

function* compareWithSingleRow(
  reading: Reading,
  bounds: TimeBounds,
  first: ScanPage,
): Requests<PageWay> {
  let page = first
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const { limit } = reading.profile.support
    const order = orderOf(reading, page)
    if (limit === 'refused' || limit === 'ignored' || order === null) break
    // A page within one second does not show its end, but whether `hasMore` is set at all.
    const isDirected = pageDirection(page, order) !== null
    if (!isDirected && page.hasMore) break
    const single = yield* request(reading, bounds, { limit: 1 })
    if (single.kind === 'refused') break
    if (single.page.ids.length > 1) {
      ignoreLimit(reading)
      break
    }
    reading.profile = {
      ...reading.profile,
      setsHasMore: reading.profile.setsHasMore || single.page.hasMore,
    }
    const way = wayOf(page, order, single.page, null)
    if (way !== null || !isDirected || !isCut(reading, page)) return { way, page }
    const again = yield* request(reading, bounds)
    if (again.kind === 'refused') break
    observe(reading, again.page, bounds)
    const settled = wayOf(page, order, single.page, again.page)
    page = again.page
    if (settled !== null || !isCut(reading, page)) return { way: settled, page }
  }
  return { way: null, page }
}

/** If `limit` does not work: a page from the new end would show a row that is newer than it. */
function* findByWitness(reading: Reading, page: ScanPage): Requests<ScanDirection | null> {
  const { profile, newestSeen } = reading
  const fields = orderOf(reading, page)?.fields ?? []
  const newestShown = maxOf(fields.flatMap((field) => timesOf(page.times, field)))
  if (newestShown === undefined || newestSeen <= newestShown || !mayWork(profile.support.lower))
    return null
  const reply = yield* request(reading, { lower: newestSeen })
  if (reply.kind === 'refused') return null
  const isWitness = (row: RowTimes) => fields.some((field) => (row.get(field) ?? 0) >= newestSeen)
  return reply.page.times.some(isWitness) ? 'forward' : null
}

/**
 * The same with an upper bound amid the page: it hides the newer half, and if the page came from
 * the new end, the rows in their place are older. Several, as an added row may be dated back.
 * Within the lower bound of the page, as rows before it are older wherever the page came from.
 */
function* findByHalf(
  reading: Reading,
  { lower, upper }: TimeBounds,
  page: ScanPage,
): Requests<ScanDirection | null> {
  const order = orderOf(reading, page)
  const middle = order === null ? undefined : middleSecond('forward', order, page.times)
  const oldest = order === null ? undefined : completeTo('backward', order, page.times)
  const isUsable = mayWork(reading.profile.support.upper) && upper === undefined
  if (middle === undefined || oldest === undefined || middle <= oldest || !isUsable) return null
  const reply = yield* request(reading, { lower, upper: middle })
  if (reply.kind === 'refused') return null
  const { ids, times } = reply.page
  const added = times.filter((_, i) => !page.ids.includes(ids[i] ?? ''))
  const isOlder = (row: RowTimes) =>
    !isOutside(row, { lower }, order) &&
    order?.fields.every((field) => (row.get(field) ?? oldest + 1) <= oldest) === true
  const isKept = ids.length > added.length
  return added.length > 1 && isKept && added.every(isOlder) ? 'backward' : null
}

/** The page ends among rows without a time: more may follow, and no bound leads there. */
export function hidesTimelessRows({ page, way }: PageWay, order: SortOrder | null): boolean {
  const isTimeless = (row: RowTimes | undefined) =>
    order === null || !order.fields.some((field) => row?.has(field))
  if (!page.times.some(isTimeless)) return false
  const direction = order === null ? null : pageDirection(page, order)
  if (way === null || direction === null) return true
  const isCutAtEnd = (direction === 'ascending') === (way === 'forward')
  return isTimeless(page.times.at(isCutAtEnd ? -1 : 0))
}

/**
 * By its times, the page begins at or before the edge up to which an earlier run has read. If it is
 * not known where it leads, only before: the edge may have more rows than it shows.
 */
export function joinsEdge(
  asked: ScanDirection,
  range: TimeRange,
  { page, way }: PageWay,
  order: SortOrder,
): boolean {
  const edge = edgeSecond(asked, range)
  const isBeyond = (at: EpochSeconds) =>
    (asked === 'forward' ? at < edge : at > edge) || (at === edge && way !== null)
  // By each time that may order the list: another one may lie beyond the edge in any row.
  return order.fields.every((field) =>
    page.times.some((row) => isBeyond(row.get(field) ?? Number.NaN)),
  )
}

/**
 * `one`: the response with a single row. `again`: the page after it. Null: not known, or the row
 * has changed since the page, so it may have come from elsewhere.
 */
function wayOf(
  page: ScanPage,
  order: SortOrder,
  one: ScanPage,
  again: ScanPage | null,
): ScanDirection | null {
  const row = one.times[0]
  const index = page.ids.indexOf(one.ids[0] ?? '')
  if (index === -1) {
    // The single row came from the new end if an older one was there before and after it.
    const isOlderLeft = again !== null && page.ids.some((id) => again.ids.includes(id))
    return isOlderLeft && order.fields.every((field) => isNewer(page, field, row))
      ? 'backward'
      : null
  }
  if (order.fields.some((field) => page.times[index]?.get(field) !== row?.get(field))) return null
  const direction = pageDirection(page, order)
  const fromEnd = page.ids.length - 1 - index
  const nearest = Math.min(index, fromEnd)
  // No row that was added, moved or removed between two requests may make it look like the other
  // end, and of many only so many as leave the page one or two rows.
  const isClear = nearest < Math.min(page.ids.length / 4, 2) && Math.abs(index - fromEnd) >= 2
  const isUnchanged = again?.ids.join() === page.ids.join()
  if (direction === null || (again === null ? !isClear : !isUnchanged || index === fromEnd))
    return null
  return index < fromEnd === (direction === 'ascending') ? 'forward' : 'backward'
}

/** Than all rows of the page, which differ by this time. */
function isNewer({ times }: ScanPage, field: string, row: RowTimes | undefined): boolean {
  const shown = timesOf(times, field)
  const [first = 0, last = 0] = [minOf(shown), maxOf(shown)]
  return first < last && (row?.get(field) ?? first) > last
}

/**
 * Null if the candidates for the sort field contradict each other. Counts single steps, because a
 * few rows may be far out of order.
 */
function pageDirection(
  { times }: ScanPage,
  { fields }: SortOrder,
): 'ascending' | 'descending' | null {
  const directions = fields.map((field) => {
    const { rises, falls } = countSteps(timesOf(times, field))
    return Math.sign(rises - falls)
  })
  const rises = directions.includes(1)
  const falls = directions.includes(-1)
  // In a few rows of one second, another time may rise or fall by chance.
  if (times.length < minConclusiveRows && directions.includes(0)) return null
  return rises === falls ? null : rises ? 'ascending' : 'descending'
}
