/**
 * A service may limit how far bounds are apart. Ranges are then read in windows, newest first;
 * without a start date, until a long time showed no row.
 */
import { daySeconds, hourSeconds, type Seconds } from '../../../values/time.ts'
import type { TimeRange } from './list-cursor.ts'
import type { Move } from './paging-profile.ts'
import { addGap, type Reading, setSupport } from './reading-state.ts'
import type { TimeBounds } from './sort-order.ts'

/** Usual limits. The widest that is not refused is used. */
const windows: readonly Seconds[] = [
  ...[366, 365, 184, 180, 92, 90, 60, 31, 30, 28, 14, 7, 2, 1].map((days) => days * daySeconds),
  6 * hourSeconds,
]

/** Nothing is looked for beyond so long a time without a row. */
const endAfterSeconds: Seconds = 400 * daySeconds
/** So many windows without a row are a gap: what is before them is not looked for. */
const maxEmptyWindows = 60

/** A request with both bounds was refused: they may be too far apart. */
export function narrowWindow(reading: Reading, move: Move, { lower, upper }: TimeBounds): void {
  const { profile } = reading
  const asked = Math.min(
    (upper ?? 0) - (lower ?? 0),
    profile.widestWindow ?? Number.POSITIVE_INFINITY,
  )
  const widestWindow = windows.find((seconds) => seconds < asked)
  if (widestWindow === undefined) setSupport(reading, move, 'refused')
  else reading.profile = { ...profile, widestWindow, requiresBothBounds: true }
}

/** `range`: the first pending one. True: it was too wide, and others are in its place. */
export function splitIntoWindows(reading: Reading, range: TimeRange): boolean {
  const { profile, now } = reading
  const { widestWindow: wide } = profile
  if (wide === null) return false
  const [, ...others] = reading.pending
  const { lo, hi, seenLo = false, seenHi = false } = range
  const older = (end: number): TimeRange => ({ lo, hi: end, ...(seenLo ? { seenLo } : {}) })
  if (hi === null) {
    // Half of the open window is ahead of the clocks.
    const begin = now - (wide >> 1)
    if (lo >= begin - 1) return false
    reading.pending = [{ lo: begin, hi: null }, older(begin - 1), ...others]
    return true
  }
  // Requests are a second wider at each end.
  if (hi - lo + 2 <= wide) return false
  const emptySeconds = lo === 0 ? reading.oldestSeen - hi : 0
  if (emptySeconds >= endAfterSeconds || emptySeconds >= maxEmptyWindows * wide) {
    if (emptySeconds < endAfterSeconds) addGap(reading, range, 'windows')
    reading.pending = others
    return true
  }
  const begin = hi - wide + 2
  reading.pending = [{ lo: begin, hi, ...(seenHi ? { seenHi } : {}) }, older(begin - 1), ...others]
  return true
}
