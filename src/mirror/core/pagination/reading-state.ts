/** What is pending, which is committed with each page, and what only saves requests. */
import type { EpochSeconds } from '../../../values/time.ts'
import type { PendingRanges, TimeRange } from './list-cursor.ts'
import { conservativeOrder, learnFromPage } from './page-evidence.ts'
import type { PageQuery, RefusedParameter, ScanPage } from './page-protocol.ts'
import {
  boundOf,
  emptyProfile,
  type ListEndpoint,
  type Move,
  type PagingProfile,
  type Support,
} from './paging-profile.ts'
import {
  completeTo,
  inferOrder,
  type OrderObservation,
  type ScanDirection,
  type SortOrder,
  type TimeBounds,
} from './sort-order.ts'

/** A request, and what is to be committed with the rows of the response before it. */
export type PageRequest = PageQuery & { readonly progress: Progress }

export type PageReply =
  | { readonly kind: 'page'; readonly page: ScanPage }
  | { readonly kind: 'refused'; readonly parameter: RefusedParameter }
  /** The answer is too large, or its rows cannot be parsed: fewer rows may be readable. */
  | { readonly kind: 'unreadable'; readonly error: unknown }

/** A part of a reading: yields requests, and returns what their replies showed. */
export type Requests<Result> = Generator<PageRequest, Result, PageReply>

/** `unreadable`: not even one row of the page can be read. */
export type SettledReply =
  | Exclude<PageReply, { kind: 'unreadable' }>
  | { readonly kind: 'refused'; readonly parameter: 'unreadable'; readonly error: unknown }

/** The first pending range, how a page of it is asked for, and with which bounds. */
export type RangeQuery = {
  readonly range: TimeRange
  readonly move: Move
  readonly bounds: TimeBounds
}

/** `key`: identifies the gap if its times may differ from finding to finding. */
export type MissedRange = {
  readonly range: TimeRange
  readonly reason: string
  readonly key?: string | undefined
}

/** Where an open gap says that a row cannot be read. */
export type UnreadablePlace = {
  readonly lo: EpochSeconds
  readonly hi: EpochSeconds
  /** Of its gap. */
  readonly key: string
}

/** A place that a reading has passed, and how many rows it has shown since the one before. */
export type PassedPlace = { readonly key: string; readonly rowsBefore: number }

/** Stored in `sync_gaps`: a changed text needs a migration, or an open gap is opened again. */
export const gapReasons = {
  timestampCollision: 'more rows share this second than one page holds',
  unreachable: 'the service reports more rows, but no request parameter reaches them',
  unordered: 'the rows are not sorted by any of their times, so rows between pages may be missing',
  emptyWithMore: 'the service reports more rows, but the page is empty',
  timeless:
    'rows without a time are listed, and no request parameter reaches ' +
    'those that a page does not show',
  bounded: 'there are rows without a time, and the service lists rows only between two times',
  otherBound:
    'the bounds compare another time than the one that sorts the rows, so rows may be missing',
  windows:
    'the service lists only a limited time at once, and many of those showed no row: set ' +
    'DESKMIRROR_START_DATE to read earlier ones',
  unreadable: 'a row is too large, or cannot be parsed',
  discontiguous: 'a page does not overlap the previous one, so rows between them may be missing',
} as const

/** Everything that a later run needs, to be committed with the rows of the last response. */
export type Progress = {
  readonly pendingRanges: PendingRanges
  /** What could not be read, as far as the last response showed it. */
  readonly missedRanges: readonly MissedRange[]
  readonly passedPlaces: readonly PassedPlace[]
  readonly profile: PagingProfile
}

/** Mutable. Only `pending` and `nextRunAt` outlive the run, and the profile. */
export type Reading = {
  readonly list: ListEndpoint
  profile: PagingProfile
  /** The first range is being read. */
  pending: readonly TimeRange[]
  nextRunAt: EpochSeconds | null
  /**
   * The cursor limit when a page first showed future-dated rows: the next run begins there at the
   * latest, as rows added meanwhile are dated before those.
   */
  frozenLimit: EpochSeconds | null
  /** Since the last request. */
  missedRanges: MissedRange[]
  /** The page that left this range behind it, read in this direction. */
  lastPage: {
    readonly range: TimeRange
    readonly way: ScanDirection
    readonly page: ScanPage
  } | null
  /** The newest time that a row has shown, as far as an order is known. */
  newestSeen: EpochSeconds
  /**
   * A page without bounds that none with a bound has proved, and what it has taken of `pending`.
   */
  unproven: {
    readonly page: ScanPage
    readonly pending: readonly TimeRange[]
    readonly taken: readonly TimeRange[]
  } | null
  /** Fewer rows are asked for since a page was unreadable; null = a full page. */
  smallerPage: {
    readonly rows: number
    /** How many were read since. */
    readonly pages: number
    readonly error: unknown
    /** So many rows of the last request could not be read; null = it had so few from the start. */
    readonly tooMany: number | null
  } | null
  /** Why the last request for the first pending range failed, if not even one row could be read. */
  unreadable: { readonly error: unknown } | null
  knownPlaces: readonly UnreadablePlace[]
  expectedPlaces: readonly PassedPlace[]
  passedPlaces: readonly PassedPlace[]
  rowsSincePlace: number
  /** By the clocks: it ends the last window. */
  readonly now: EpochSeconds
  /** The time of the oldest row that was seen after the first pending range. */
  oldestSeen: EpochSeconds
  /** A page without bounds that was refuted. */
  misleading: ScanPage | null
  isHasMoreTested: boolean
  cutPage: ScanPage | null
  /** Shared with other readings of the list. */
  readonly testedPages: TestedPages
  /** No order is stored before, so that an interrupted reading tests them again. */
  isUntested: boolean
  /** Whether `hasMore` of an empty page is reliable; null = not known yet. */
  readonly isHasMoreReliableIfEmpty: boolean | null
}

/** `rows`: the size of the largest tested pages. `isSingleAsked`: for a page of a single row. */
export type TestedPages = { rows: number; count: number; isSingleAsked: boolean }

export const startTests = (profile: PagingProfile | null): TestedPages => {
  return { rows: profile?.largestPage ?? 0, count: 0, isSingleAsked: false }
}

export type RangesToRead = {
  readonly list: ListEndpoint
  readonly profile: PagingProfile | null
  readonly ranges: PendingRanges
  /** False: the service sets `hasMore` on an empty page, too; null = not known yet. */
  readonly isHasMoreReliableIfEmpty?: boolean | null
  readonly testedPages?: TestedPages
  readonly now?: EpochSeconds
  /** The time of the oldest row after the last pending range, as earlier readings showed it. */
  readonly oldestSeen?: EpochSeconds
  readonly knownPlaces?: readonly UnreadablePlace[]
  /** By the last reading of the list. */
  readonly expectedPlaces?: readonly PassedPlace[]
}

export function createReading({
  list,
  profile: known,
  ranges,
  isHasMoreReliableIfEmpty = null,
  testedPages = startTests(known),
  now = 0,
  oldestSeen = now,
  knownPlaces = [],
  expectedPlaces = [],
}: RangesToRead): Reading {
  const profile = known ?? emptyProfile(list)
  const { order, hasMixedOrder } = profile
  return {
    list,
    // If the pages of a list run in both directions, an earlier direction says nothing.
    profile:
      hasMixedOrder && order ? { ...profile, order: { ...order, direction: null } } : profile,
    // The range without an end comes first, so that new rows are read before old ones.
    pending: [...ranges].sort((a, b) => Number(b.hi === null) - Number(a.hi === null)),
    nextRunAt: null,
    frozenLimit: null,
    missedRanges: [],
    lastPage: null,
    unproven: null,
    misleading: null,
    newestSeen: ranges.find(({ hi }) => hi === null)?.lo ?? 0,
    isHasMoreTested: false,
    cutPage: null,
    testedPages,
    smallerPage: null,
    unreadable: null,
    knownPlaces,
    expectedPlaces,
    passedPlaces: [],
    rowsSincePlace: 0,
    now,
    oldestSeen: Math.min(oldestSeen, now),
    isUntested: profile.order === null,
    isHasMoreReliableIfEmpty,
  }
}

/** What is to be committed. Missed ranges are handed over once. */
export function takeProgress(reading: Reading): Progress {
  const { nextRunAt, frozenLimit, missedRanges, passedPlaces, unproven } = reading
  const pending = unproven === null ? reading.pending : [...reading.pending, ...unproven.taken]
  const isKnown = unproven === null && !reading.isUntested
  const profile = isKnown ? reading.profile : { ...reading.profile, order: null }
  const limited = pending.map((range) =>
    range.hi === null && frozenLimit !== null && range.lo > frozenLimit
      ? { lo: frozenLimit, hi: null }
      : range,
  )
  const isOpenEndRead = nextRunAt !== null && !pending.some(({ hi }) => hi === null)
  reading.missedRanges = []
  return {
    pendingRanges: isOpenEndRead ? [...limited, { lo: nextRunAt, hi: null }] : limited,
    missedRanges,
    passedPlaces,
    profile,
  }
}

/** Learns from a full page. */
export function observe(reading: Reading, page: ScanPage, bounds: TimeBounds): OrderObservation {
  const observation = inferOrder(reading.profile.order, page.times, bounds)
  reading.profile = learnFromPage(reading, observation.order, page, bounds)
  reading.oldestSeen = Math.min(reading.oldestSeen, oldestTime(reading, page) ?? Infinity)
  const newest = newestTime(reading, page)
  reading.newestSeen = Math.max(reading.newestSeen, newest)
  if (reading.pending[0]?.hi === null && newest > page.cursorLimit)
    reading.frozenLimit ??= page.cursorLimit
  return observation
}

export function ignoreLimit(reading: Reading): void {
  const { profile } = reading
  reading.profile = { ...profile, support: { ...profile.support, limit: 'ignored' } }
}

/** The bound of this move is refused or ignored, or has proved to work. */
export function setSupport(reading: Reading, move: Move, support: Support): void {
  const { profile } = reading
  if (move === 'unbounded') return
  const bound = boundOf(move)
  const inclusiveBounds =
    support === 'honoured' ? profile.inclusiveBounds : { ...profile.inclusiveBounds, [bound]: null }
  reading.profile = {
    ...profile,
    inclusiveBounds,
    support: { ...profile.support, [bound]: support },
  }
}

export function replaceRange(
  reading: Reading,
  rests: PendingRanges,
  page: ScanPage | null,
  way?: ScanDirection,
): void {
  const [range, ...others] = reading.pending
  const [first] = rests
  if (page !== null && way !== undefined) {
    const known = new Set(reading.lastPage?.page.ids)
    reading.rowsSincePlace += page.ids.filter((id) => !known.has(id)).length
  }
  reading.pending = [...rests, ...others]
  reading.lastPage = page && first && way ? { range: first, way, page } : null
  if (range?.hi !== null || rests.some(({ hi }) => hi === null)) return
  // The open range has ended: the next run begins with the newest second seen, but not beyond the
  // cursor limit.
  const seen = page === null ? range.lo : Math.max(range.lo, newestTime(reading, page))
  reading.nextRunAt = Math.min(seen, page?.cursorLimit ?? seen, reading.frozenLimit ?? seen)
}

export function finishRange(reading: Reading, range: TimeRange, page: ScanPage): void {
  const { isHasMoreReliableIfEmpty: isReliable, profile } = reading
  const mayBeReliable = profile.isHasMoreReliableIfShort !== false && (isReliable ?? range.lo !== 0)
  // No parameter leads to the rows after an empty page with `hasMore` set.
  if (page.ids.length === 0 && page.hasMore && mayBeReliable)
    addGap(reading, range, 'emptyWithMore')
  replaceRange(reading, [], page)
}

export function giveUpRange(reading: Reading, range: TimeRange, page: ScanPage | null): void {
  addGap(reading, range, 'unreachable')
  replaceRange(reading, [], page)
}

export function addGap(
  reading: Reading,
  { lo, hi }: TimeRange,
  reason: keyof typeof gapReasons,
  key?: string,
): void {
  reading.missedRanges.push({ range: { lo, hi }, reason: gapReasons[reason], key })
}

/** The order by which the page is safe; null if its rows have no times. */
export function orderOf({ profile }: Reading, page: ScanPage): SortOrder | null {
  return profile.order ?? conservativeOrder(page.times)
}

function oldestTime(reading: Reading, page: ScanPage): EpochSeconds | undefined {
  const order = orderOf(reading, page)
  return order === null ? undefined : completeTo('backward', order, page.times)
}

function newestTime(reading: Reading, page: ScanPage): EpochSeconds {
  const order = orderOf(reading, page)
  return (order === null ? undefined : completeTo('forward', order, page.times)) ?? 0
}
