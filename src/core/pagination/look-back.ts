/**
 * Where a pass begins: some minutes behind the cursor that an earlier one left, as rows may appear late. Where those
 * minutes fill no page they come with the news, and cost no request.
 */
import type { Seconds } from '../time.ts'
import type { TimeRange } from './pending-ranges.ts'

export type LookBackOptions = {
  /** How far, in seconds. */
  readonly by: Seconds
  /** This machine's clock. */
  readonly now: Seconds
  /** Not further than there. */
  readonly start: Seconds
}

/** The ranges with their open end begun earlier. A range to be covered for the first time has nothing behind it. */
export function applyLookBack(ranges: readonly TimeRange[], options: LookBackOptions): readonly TimeRange[] {
  return ranges.map((range) =>
    range.hi === null ? { ...range, lo: Math.min(range.lo, lookBackStart(range.lo, options)) } : range,
  )
}

/** Whether a cursor stands where no clock can have led it: what came since it got there may lie before it. */
export function isImplausibleCursor(cursor: Seconds, { by, now }: LookBackOptions): boolean {
  return cursor > now + Math.max(by, maxClockSetback)
}

/** Seconds by which a clock may have been set back. */
const maxClockSetback = 600

function lookBackStart(cursor: Seconds, options: LookBackOptions): Seconds {
  if (isImplausibleCursor(cursor, options)) return options.start
  return Math.max(options.start, Math.min(cursor, options.now) - options.by)
}
