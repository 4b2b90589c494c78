/** The ways to request a pending range, and which of them to try first. */
import type { EpochSeconds } from '../../../values/time.ts'
import type { Bound, ListEnd, PagingProfile, Shape } from './paging-profile.ts'
import type { TimeRange } from './pending-ranges.ts'
import type { TimeBounds } from './sort-order.ts'

/** `forward`: from its lower end, `backward`: from its upper end, `unbounded`: without bounds. */
export type Move = 'forward' | 'backward' | 'unbounded'

export const shapeOf = { forward: 'lower', backward: 'upper', unbounded: 'unbounded' } as const satisfies Record<
  Move,
  Shape
>

/** Beyond all rows: the upper bound of an open range if one has to be sent. 2100-01-01T00:00:00Z. */
export const farFuture: EpochSeconds = 4_102_444_800

/** Those that may show rows of the range, best first. */
export function movesFor(range: TimeRange, profile: PagingProfile): readonly Move[] {
  const { support, ends, requiresBothBounds } = profile
  const isOpen = range.hi === null
  const isUsable = {
    forward: mayWork(support.lower),
    backward: mayWork(support.upper),
    unbounded: !requiresBothBounds && mayShowUnbounded(range, ends.unbounded),
  }
  const best = ((): readonly Move[] => {
    // Rows without a time are shown only where no bound is sent.
    if (isOpen && range.lo === 0 && !range.seenLo) return ['unbounded', 'forward', 'backward']
    if (isOpen && (support.lower === 'honoured' || range.seenLo)) return ['forward', 'backward', 'unbounded']
    if (isOpen) return ['unbounded', 'forward', 'backward']
    const isForward = ends.lower === 'oldest' || (ends.upper !== 'newest' && range.seenLo === true && !range.seenHi)
    return isForward ? ['forward', 'backward', 'unbounded'] : ['backward', 'forward', 'unbounded']
  })()
  return best.filter((move) => isUsable[move])
}

/** A page without bounds has left this range, unless such pages come from its other end. */
function mayShowUnbounded({ seenLo = false, seenHi = false }: TimeRange, end: ListEnd | null): boolean {
  if (seenLo === seenHi) return !seenLo
  return end === (seenHi ? 'oldest' : 'newest')
}

function mayWork(support: PagingProfile['support'][Bound]): boolean {
  return support === 'honoured' || support === 'unknown'
}

/** The bounds of a request: one second wider than the range, because bounds may be exclusive. */
export function boundsOf(
  move: Move,
  { lo, hi }: TimeRange,
  { support, requiresBothBounds }: PagingProfile,
): TimeBounds {
  if (move === 'unbounded') return {}
  const lower = Math.max(0, lo - 1)
  const upper = hi === null ? farFuture : hi + 1
  const sendsOther = (bound: Bound, isLimiting: boolean) =>
    requiresBothBounds || (isLimiting && support[bound] === 'honoured')
  if (move === 'forward') return { lower, upper: sendsOther('upper', hi !== null) ? upper : undefined }
  return { lower: sendsOther('lower', lo > 0) ? lower : undefined, upper }
}
