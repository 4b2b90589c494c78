/**
 * A row may be so large that no answer with it is read, or may not parse. Where not even one row
 * can be read, a bound beyond it shows the others: it is looked for in steps that double, then
 * halve. What lies between is a gap.
 */
import type { EpochSeconds } from '../../../values/time.ts'
import { boundsOf, farFuture, mayWork, type TimeRange } from './list-cursor.ts'
import type { ScanPage } from './page-exchange.ts'
import { boundOf } from './paging-profile.ts'
import { addGap, type Reading, type Requests, replaceRange, request } from './reading-state.ts'
import type { ScanDirection } from './sort-order.ts'

/** A bound whose page can be read, while the page of the bound a second before it cannot. */
type Readable = {
  readonly way: ScanDirection
  readonly bound: EpochSeconds
  readonly page: ScanPage
}

/**
 * `error`: thrown if nothing can be read, wherever it is: then it is not about a row. `ways`: in
 * which no page can be read that begins at the edge of the range.
 */
export function* passUnreadable(
  reading: Reading,
  range: TimeRange,
  error: unknown,
  ways: readonly ScanDirection[] = ['backward', 'forward'],
): Requests<void> {
  let found: Readable | null = null
  for (const way of ways) {
    if (!mayWork(reading.profile.support[boundOf(way)])) continue
    const readable: Readable | null = yield* findReadable(reading, range, way)
    // A page without rows has passed all of them.
    if (readable !== null && (found === null || readable.page.ids.length > 0)) found = readable
    if (found !== null && found.page.ids.length > 0) break
  }
  if (found === null) throw error
  const { way, bound, page } = found
  const { lo, hi, seenLo = false, seenHi = false } = range
  const isForward = way === 'forward'
  addGap(reading, isForward ? { lo, hi: bound } : { lo: bound, hi }, 'unreadable')
  const rest: TimeRange = isForward
    ? { lo: bound + 1, hi, ...(seenHi ? { seenHi } : {}) }
    : { lo, hi: bound - 1, ...(seenLo ? { seenLo } : {}) }
  reading.smallerPage = null
  replaceRange(reading, rest.hi !== null && rest.hi < rest.lo ? [] : [rest], page)
}

function* findReadable(
  reading: Reading,
  range: TimeRange,
  way: ScanDirection,
): Requests<Readable | null> {
  const isForward = way === 'forward'
  const open = Math.max(reading.now, reading.newestSeen, range.lo)
  const [near, far] = isForward
    ? [range.lo, range.hi ?? farFuture]
    : [range.hi ?? open, Math.max(1, range.lo)]
  const sign = isForward ? 1 : -1
  const distance = Math.abs(far - near)
  /** Null: it cannot be read. */
  function* pageAt(bound: EpochSeconds): Requests<ScanPage | null> {
    // Requests are a second wider than their range.
    const beyond = isForward ? { ...range, lo: bound + 1 } : { ...range, hi: bound - 1 }
    const reply = yield* request(reading, boundsOf(way, beyond, reading.profile), { limit: 1 })
    return reply.kind === 'page' ? reply.page : null
  }
  let tooNear = 0
  let readable = distance
  let page = yield* pageAt(far)
  if (page === null) return null
  const attempt = function* (steps: number): Requests<boolean> {
    const reply = yield* pageAt(near + sign * steps)
    if (reply === null) tooNear = steps
    else [readable, page] = [steps, reply]
    return reply !== null
  }
  for (let steps = 1; steps < distance; steps *= 2) if (yield* attempt(steps)) break
  while (readable - tooNear > 1) yield* attempt(tooNear + ((readable - tooNear) >> 1))
  return { way, bound: near + sign * readable, page }
}
