/**
 * A row may be so large that no answer with it is read, or may not parse. A bound beyond it shows
 * the others: it is looked for where an open gap says that such a row is, else in steps that
 * double, then halve. What lies between is one gap for the row: in every list, the bound is the
 * same.
 */
import { unreadableContent } from '../../../service/core/api-failure.ts'
import { type EpochSeconds, rfc3339 } from '../../../values/time.ts'
import { boundsOf, farFuture, mayWork, type TimeRange } from './list-cursor.ts'
import { rangeBeyondEdge, showsNewRows } from './page-evidence.ts'
import type { ScanPage } from './page-protocol.ts'
import { request, rowsUntilPlace } from './page-size.ts'
import { boundOf, type Move } from './paging-profile.ts'
import {
  addGap,
  ignoreLimit,
  orderOf,
  type Reading,
  type Requests,
  replaceRange,
  type SettledReply,
  type UnreadablePlace,
} from './reading-state.ts'
import { completeTo, type ScanDirection } from './sort-order.ts'

/** A bound whose page can be read, while the page of the bound a second before it cannot. */
type Readable = {
  readonly way: ScanDirection
  readonly bound: EpochSeconds
  /** Null: it begins with another row that cannot be read. */
  readonly page: ScanPage | null
}

/**
 * `error`: thrown if nothing can be read anywhere: then it is not about a row. `ways`: in which no
 * page can be read that begins at the edge of the range.
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
    if (readable !== null && (found === null || showsRows(readable))) found = readable
    if (found !== null && showsRows(found)) break
  }
  if (found === null) throw error
  leaveBehind(reading, range, found)
}

/**
 * Whether a page leads on that is too small to show its end: no page can be read without its rows.
 */
export function* leadsToUnreadable(
  reading: Reading,
  range: TimeRange,
  way: ScanDirection,
  page: ScanPage,
): Requests<boolean> {
  const { profile, smallerPage } = reading
  const order = orderOf(reading, page)
  const edge = order === null ? undefined : completeTo(way, order, page.times)
  if (smallerPage === null || edge === undefined || profile.ways.unbounded !== way) return false
  const { sign } = edgeOf(reading, range, way)
  return (yield* pageBehind(reading, range, way, edge + sign)) === null
}

/** The last reading of the list showed as many rows before such a row as were read now. */
export function isPlaceExpected(reading: Reading): boolean {
  const rows = rowsUntilPlace(reading)
  return rows !== null && rows <= 0 && reading.smallerPage !== null
}

/**
 * Passes a row of which an open gap tells. False: it is elsewhere, or can be read now. `isNext`: a
 * row at the edge is known to be unreadable.
 */
export function* passKnownPlace(
  reading: Reading,
  range: TimeRange,
  move: Move,
  isNext = false,
): Requests<boolean> {
  const { profile, knownPlaces } = reading
  const way = move === 'unbounded' ? profile.ways.unbounded : move
  if (way === null || !mayWork(profile.support[boundOf(way)])) return false
  const { near, sign } = edgeOf(reading, range, way)
  const stepsTo = (place: UnreadablePlace) => sign * (boundBehind(way, place) - near)
  const ahead = knownPlaces.filter((place) => stepsTo(place) > 1)
  if (ahead.length === 0) return false
  // No row that can be read is before it.
  if (!isNext && (yield* pageBehind(reading, range, way, near + sign)) !== null) return false
  for (const place of ahead.sort((a, b) => stepsTo(a) - stepsTo(b))) {
    const bound = boundBehind(way, place)
    const isStill = stepsTo(place) === 2 || !(yield* pageBehind(reading, range, way, bound - sign))
    if (!isStill) return false
    const page = yield* pageBehind(reading, range, way, bound)
    if (page === null) continue
    leaveBehind(reading, range, { way, bound, page })
    return true
  }
  return false
}

function boundBehind(way: ScanDirection, { lo, hi }: UnreadablePlace): EpochSeconds {
  return way === 'forward' ? hi : lo
}

const showsRows = ({ page }: Readable) => page === null || page.ids.length > 0

function leaveBehind(reading: Reading, range: TimeRange, { way, bound, page }: Readable): void {
  const { lo, hi } = range
  const isForward = way === 'forward'
  const missed = isForward ? { lo, hi: bound } : { lo: bound, hi }
  const isNamed = (place: UnreadablePlace) => {
    const behind = boundBehind(way, place)
    const isWithin = behind > missed.lo && behind < (missed.hi ?? farFuture)
    return behind === bound || isWithin || (place.lo < bound && bound < place.hi)
  }
  const known = reading.knownPlaces.find(isNamed)
  const key = known?.key ?? `unreadable:${rfc3339(bound)}`
  addGap(reading, missed, 'unreadable', key)
  if (known === undefined) {
    const place = { lo: missed.lo, hi: missed.hi ?? farFuture, key }
    reading.knownPlaces = [...reading.knownPlaces, place]
  }
  const rest = rangeBeyondEdge(way, isForward ? { ...range, lo: bound } : { ...range, hi: bound })
  reading.smallerPage = null
  reading.passedPlaces = [...reading.passedPlaces, { key, rowsBefore: reading.rowsSincePlace }]
  reading.rowsSincePlace = 0
  reading.expectedPlaces = reading.expectedPlaces.filter((place) => place.key !== key)
  replaceRange(reading, rest === null ? [] : [rest], page)
}

/** The page of one row behind this bound. Null: it cannot be read, or is not behind. */
function* pageBehind(
  reading: Reading,
  range: TimeRange,
  way: ScanDirection,
  bound: EpochSeconds,
): Requests<ScanPage | null> {
  const reply = yield* askBehind(reading, range, way, bound)
  return reply.kind === 'page' && !isKnown(reading, range, reply.page) ? reply.page : null
}

/** The row was read before: another time than that of the edge orders it. */
function isKnown({ lastPage }: Reading, range: TimeRange, page: ScanPage): boolean {
  const isSame = lastPage?.range === range && !showsNewRows(page, lastPage.page)
  return isSame && page.ids.length > 0
}

function askBehind(
  reading: Reading,
  range: TimeRange,
  way: ScanDirection,
  bound: EpochSeconds,
): Requests<SettledReply> {
  // Requests are a second wider than their range.
  const beyond = way === 'forward' ? { ...range, lo: bound + 1 } : { ...range, hi: bound - 1 }
  return request(reading, boundsOf(way, beyond, reading.profile), { limit: 1 })
}

/**
 * `sign`: of a step from `near`. `far`: the row may be beyond a range that does not limit requests.
 */
function edgeOf({ now, newestSeen, profile }: Reading, range: TimeRange, way: ScanDirection) {
  const { lo, hi } = range
  const { lower, upper } = boundsOf(way, range, profile)
  return way === 'forward'
    ? { near: lo, far: upper === undefined ? farFuture : (hi ?? farFuture), sign: 1 }
    : {
        near: hi ?? Math.max(now, newestSeen, lo),
        far: lower === undefined ? 1 : Math.max(1, lo),
        sign: -1,
      }
}

/** `isComparable`: another answer is about another row, unless each answer differs. */
function* findReadable(
  reading: Reading,
  range: TimeRange,
  way: ScanDirection,
  isComparable = reading.profile.support.limit !== 'ignored',
): Requests<Readable | null> {
  const { near, far, sign } = edgeOf(reading, range, way)
  const distance = Math.abs(far - near)
  const ask = (steps: number) => askBehind(reading, range, way, near + sign * steps)
  let tooNear = 0
  let passed = distance
  const last = yield* ask(distance)
  if (last.kind !== 'page') return null
  let page: ScanPage | null = last.page
  let first: string | null | undefined
  const attempt = function* (steps: number): Requests<boolean> {
    const reply = yield* ask(steps)
    const content = contentOf(reply)
    if (first === undefined) first = content
    const isOther = isComparable && first != null && content != null && content !== first
    const isPassed = isOther || (reply.kind === 'page' && !isKnown(reading, range, reply.page))
    if (isPassed) [passed, page] = [steps, reply.kind === 'page' ? reply.page : null]
    else tooNear = steps
    return isPassed
  }
  for (let steps = 1; steps < distance; steps *= 2) if (yield* attempt(steps)) break
  while (passed - tooNear > 1) yield* attempt(tooNear + ((passed - tooNear) >> 1))
  if (page === null) {
    // Answers differ as well if `limit` is ignored: each shows other rows beside the bad one.
    const readable = yield* findReadable(reading, range, way, false)
    const isLimitIgnored = (readable?.page?.ids.length ?? 0) > 1
    if (isLimitIgnored) ignoreLimit(reading)
    if (isLimitIgnored || contentOf(yield* ask(tooNear)) !== first) return readable
  }
  return { way, bound: near + sign * passed, page }
}

/** Of an answer that cannot be read. */
function contentOf(reply: SettledReply): string | null | undefined {
  return 'error' in reply ? unreadableContent(reply.error) : undefined
}
