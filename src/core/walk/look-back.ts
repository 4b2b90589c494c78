/**
 * Where a pass begins: some minutes behind the cursor that an earlier one left, as rows may appear late. Where those
 * minutes fill no page they come with the news, and cost no request.
 */
import type { Seconds } from '../time.ts'
import type { Range } from './position.ts'

export type LookBack = {
  /** How far, in seconds. */
  readonly by: Seconds
  /** This machine's clock. */
  readonly now: Seconds
  /** Not further than there. */
  readonly start: Seconds
}

/** The ranges with their open end begun earlier. A range to be covered for the first time has nothing behind it. */
export function lookBack(ranges: readonly Range[], terms: LookBack): readonly Range[] {
  return ranges.map((range) =>
    range.hi === null ? { ...range, lo: Math.min(range.lo, beginning(range.lo, terms)) } : range,
  )
}

/** Whether a cursor stands where no clock can have led it: what came since it got there may lie before it. */
export function isAstray(cursor: Seconds, { by, now }: LookBack): boolean {
  return cursor > now + Math.max(by, tolerated)
}

/** Seconds by which a clock may have been set back. */
const tolerated = 600

function beginning(cursor: Seconds, terms: LookBack): Seconds {
  if (isAstray(cursor, terms)) return terms.start
  return Math.max(terms.start, Math.min(cursor, terms.now) - terms.by)
}
