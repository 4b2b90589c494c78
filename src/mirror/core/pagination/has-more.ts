/**
 * Whether the service sets `hasMore` always. A page smaller than any that it should cut says that more rows follow: a
 * request beyond its rows tells. An empty page with `hasMore` set proves it, as no change of the list can; but only beyond
 * all times, because a service may cut a page and then leave out all of its rows (deleted ones, spam).
 */
import { conservativeOrder } from './page-edge.ts'
import { isOutside, isShortPage, type ScanPage, showsNewRows } from './page-evidence.ts'
import { farFuture, type Move } from './paging-moves.ts'
import { type Reading, type Requests, request } from './reading.ts'
import { maxOf, minOf, type TimeBounds } from './sort-order.ts'

export function* testHasMore(reading: Reading, page: ScanPage, move: Move): Requests<void> {
  const { list, profile, isHasMoreTested, lastPage } = reading
  if (profile.isHasMoreReliableIfShort !== null || !isShortPage(list, page)) return
  // Once, and where nothing new follows.
  if (isHasMoreTested && (lastPage === null || showsNewRows(page, lastPage.page))) return
  reading.isHasMoreTested = true
  const beyond = boundsBeyond(reading, page)
  for (const bounds of move === 'backward' ? beyond.reverse() : beyond) {
    const reply = yield* request(reading, bounds)
    if (reply.kind === 'refused') continue
    const { ids, hasMore, times } = reply.page
    if (ids.length > 0 && times.some((row) => isOutside(row, bounds, profile.order))) continue
    if (ids.length > 0 && hasMore) continue
    if (hasMore && !(yield* isSetBeyondAll(reading, bounds))) continue
    reading.profile = { ...reading.profile, isHasMoreReliableIfShort: !hasMore }
    return
  }
}

/** Whether a page where no row can be, in the direction of these bounds, is empty and has `hasMore` set. */
function* isSetBeyondAll(reading: Reading, { lower }: TimeBounds): Requests<boolean> {
  const reply = yield* request(reading, lower === undefined ? { upper: 0 } : { lower: farFuture })
  return reply.kind === 'page' && reply.page.ids.length === 0 && reply.page.hasMore
}

/** Behind the newest row of the page, and before its oldest one. */
function boundsBeyond({ profile }: Reading, { times }: ScanPage): TimeBounds[] {
  const { support, requiresBothBounds, order } = profile
  const fields = (order ?? conservativeOrder(times))?.fields ?? []
  const all = times.flatMap((row) => fields.flatMap((field) => row.get(field) ?? []))
  const [first, last] = [minOf(all), maxOf(all)]
  if (first === undefined || last === undefined || requiresBothBounds) return []
  const mayWork = (bound: 'lower' | 'upper') => support[bound] === 'honoured' || support[bound] === 'unknown'
  return [
    ...(mayWork('lower') ? [{ lower: last + 1 }] : []),
    ...(mayWork('upper') && first > 0 ? [{ upper: first - 1 }] : []),
  ]
}
