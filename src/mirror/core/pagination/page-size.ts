/**
 * Requests a page, and decides its size: if it cannot be read, fewer rows are asked for, down to
 * one; pages grow again once the large rows are left behind.
 */
import type { PageQuery } from './page-protocol.ts'
import { pageSizesOf } from './paging-profile.ts'
import { type Reading, type Requests, type SettledReply, takeProgress } from './reading-state.ts'
import type { TimeBounds } from './sort-order.ts'

export function* request(
  reading: Reading,
  bounds: TimeBounds,
  more: Partial<PageQuery> = {},
): Requests<SettledReply> {
  // Before the request, as the size of its page says whether it is cut.
  if (more.limit == null) growPage(reading)
  for (;;) {
    const limit = more.limit ?? reading.smallerPage?.rows ?? null
    const reply = yield { part: {}, ...more, limit, bounds, progress: takeProgress(reading) }
    if (reply.kind !== 'unreadable') return reply
    const asked = limit ?? pageSizesOf(reading.list).most
    const { support } = reading.profile
    const isSmallest =
      asked <= 1 || more.limit != null || support.limit === 'ignored' || support.limit === 'refused'
    if (isSmallest) return { kind: 'refused', parameter: 'unreadable', error: reply.error }
    const rows = Math.max(1, rowsInNextPage(reading, asked))
    reading.smallerPage = { rows, pages: 0, error: reply.error, tooMany: asked }
  }
}

/** `asked`: the page of so many rows has one that cannot be read. */
function rowsInNextPage(reading: Reading, asked: number): number {
  const rows = rowsUntilPlace(reading) ?? asked
  // A page begins with the last row again.
  const whole = rows + (reading.rowsSincePlace > 0 ? 1 : 0)
  return whole < asked ? whole : asked >> 1
}

/** How many rows are left until one that cannot be read; null = not known. */
export function rowsUntilPlace({ expectedPlaces, rowsSincePlace }: Reading): number | null {
  const [next] = expectedPlaces
  return next === undefined ? null : next.rowsBefore - rowsSincePlace
}

/** So many pages show that the large rows are left behind. */
const pagesUntilLarger = 8

function growPage(reading: Reading): void {
  const { smallerPage: smaller, list } = reading
  if (smaller === null) return
  const isGrown = smaller.pages >= pagesUntilLarger
  const rows = isGrown ? smaller.rows * 2 : smaller.rows
  const pages = isGrown ? 0 : smaller.pages + 1
  reading.smallerPage =
    rows >= pageSizesOf(list).most ? null : { ...smaller, rows, pages, tooMany: null }
}
