/**
 * The cursor of a list: the time ranges still to be read, and the ways to request one. Whatever is
 * not proved is a range here, and is committed with the rows. One open range is left after a
 * complete run (from the last second seen), more after an interrupted one.
 */
import { type EpochSeconds, parseTime, rfc3339, type Seconds } from '../../../values/time.ts'
import type { Bound, Move, PagingProfile, Support } from './paging-profile.ts'
import type { ScanDirection, TimeBounds } from './sort-order.ts'

/**
 * Seconds, both ends included; `hi` null = no end. `seenLo`, `seenHi`: a row of that second was
 * read, and so was everything beyond it.
 */
export type TimeRange = {
  readonly lo: EpochSeconds
  readonly hi: EpochSeconds | null
  readonly seenLo?: boolean
  readonly seenHi?: boolean
}

export type PendingRanges = readonly TimeRange[]

export const allTime: TimeRange = { lo: 0, hi: null }

/** Stands at an end of a range of which a row was read. */
const seenMark = '='

/** `=2026-05-01T00:00:00Z/2026-05-02T00:00:00Z 2026-06-01T00:00:00Z/`; `=`: that end was seen. */
export function formatPendingRanges(ranges: PendingRanges): string {
  return ranges.map(formatTimeRange).join(' ')
}

function formatTimeRange({ lo, hi, seenLo = false, seenHi = false }: TimeRange): string {
  const end = hi === null ? '' : `${rfc3339(hi)}${seenHi ? seenMark : ''}`
  return `${seenLo ? seenMark : ''}${rfc3339(lo)}/${end}`
}

/** The ranges of a stored cursor; `start` if there is none, or it is unreadable. */
export function parsePendingRanges(text: string | null, start: TimeRange): PendingRanges {
  const ranges = (text ?? '').split(' ').map(parseTimeRange)
  return ranges.some((range) => range === undefined)
    ? [start]
    : ranges.filter((range) => range !== undefined)
}

function parseTimeRange(text: string): TimeRange | undefined {
  const [, loMark, from, to, hiMark] = /^(=?)([^/=]+)\/([^/=]*)(=?)$/.exec(text) ?? []
  const lo = parseTime(from)
  const hi = to === '' ? null : parseTime(to)
  if (lo === undefined || hi === undefined) return undefined
  return { lo, hi, ...(loMark ? { seenLo: true } : {}), ...(hiMark ? { seenHi: true } : {}) }
}

/** The list has been read: only what follows the last second seen is left. */
export function isReadToEnd([range, ...others]: PendingRanges): boolean {
  return others.length === 0 && range?.hi === null && range.seenLo !== true
}

/**
 * Less is left than before, so runs that all end as early do reach the end. The open range does not
 * count beside others, as new rows open it again.
 */
export function isLessLeft(before: PendingRanges, left: PendingRanges): boolean {
  const isOpenInHand = before.length === 1 || left.some(({ hi, seenLo }) => hi === null && seenLo)
  const isWhollyLeft = ({ lo, hi }: TimeRange) =>
    left.some((range) => range.lo <= lo && (range.hi === null || (hi !== null && range.hi >= hi)))
  return before.some((range) => (range.hi !== null || isOpenInHand) && !isWhollyLeft(range))
}

type LookBackOptions = {
  readonly lookBackSeconds: Seconds
  /** This machine's clock. */
  readonly now: EpochSeconds
  readonly start: EpochSeconds
}

/**
 * Extends the open range backwards, as rows may appear late. The others are read the first time.
 */
export function applyLookBack(ranges: PendingRanges, options: LookBackOptions): PendingRanges {
  const { lookBackSeconds, now, start } = options
  return ranges.map(({ lo, hi, ...seen }) => {
    if (hi !== null) return { lo, hi, ...seen }
    const from = isImplausibleCursor(lo, options)
      ? start
      : Math.max(start, Math.min(lo, now) - lookBackSeconds)
    return { lo: Math.min(lo, from), hi }
  })
}

/** The cursor is ahead of any plausible clock, so rows since then may be dated before it. */
export function isImplausibleCursor(
  cursor: EpochSeconds,
  { lookBackSeconds, now }: LookBackOptions,
): boolean {
  return cursor > now + Math.max(lookBackSeconds, maxClockSetbackSeconds)
}

/** How far a clock may have been set back. */
const maxClockSetbackSeconds: Seconds = 600

/** Beyond all rows: an upper bound if one has to be sent. 2100-01-01T00:00:00Z. */
export const farFuture: EpochSeconds = 4_102_444_800

/** Those that may show rows of the range, best first. */
export function movesFor(range: TimeRange, profile: PagingProfile): readonly Move[] {
  const { support, ways, requiresBothBounds } = profile
  const isOpen = range.hi === null
  const isUsable = {
    forward: mayWork(support.lower),
    backward: mayWork(support.upper),
    unbounded: !requiresBothBounds && mayShowUnbounded(range, ways.unbounded),
  }
  const best = ((): readonly Move[] => {
    // Rows without a time are shown only where no bound is sent.
    if (isOpen && range.lo === 0 && !range.seenLo) return ['unbounded', 'forward', 'backward']
    if (isOpen && (support.lower === 'honoured' || range.seenLo))
      return ['forward', 'backward', 'unbounded']
    if (isOpen) return ['unbounded', 'forward', 'backward']
    const isSeenBelow = range.seenLo === true && !range.seenHi
    const isForward = ways.forward === 'forward' || (ways.backward !== 'backward' && isSeenBelow)
    return isForward ? ['forward', 'backward', 'unbounded'] : ['backward', 'forward', 'unbounded']
  })()
  return best.filter((move) => isUsable[move])
}

/** A page without bounds has left this range, unless such pages come from its other end. */
function mayShowUnbounded(
  { seenLo = false, seenHi = false }: TimeRange,
  way: ScanDirection | null,
): boolean {
  return seenLo === seenHi ? !seenLo : way === (seenHi ? 'forward' : 'backward')
}

export function mayWork(support: Support): boolean {
  return support === 'honoured' || support === 'unknown'
}

/** The bounds of a request: one second wider than the range, because bounds may be exclusive. */
export function boundsOf(move: Move, range: TimeRange, profile: PagingProfile): TimeBounds {
  const { lo, hi } = range
  const { support, requiresBothBounds, widestWindow } = profile
  if (move === 'unbounded') return {}
  const lower = Math.max(0, lo - 1)
  const latest = hi === null ? farFuture : hi + 1
  const upper = widestWindow === null ? latest : Math.min(latest, lower + widestWindow)
  const sendsOther = (bound: Bound, isLimiting: boolean) =>
    requiresBothBounds || (isLimiting && support[bound] === 'honoured')
  if (move === 'forward')
    return { lower, upper: sendsOther('upper', hi !== null) ? upper : undefined }
  return { lower: sendsOther('lower', lo > 0) ? lower : undefined, upper }
}
