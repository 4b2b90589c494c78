/** The meaning of `since`, `from`, `to` and `before` for a service whose clock is finer than the times it shows. Pure. */
import type { EpochMs } from '../../core/time.ts'

/** `hidden`: comparisons use fractions of seconds; otherwise a row's time is truncated to its second first. */
export type Bound = { readonly inclusive: boolean; readonly hidden: boolean }

const second = 1000

/** The first millisecond after `time` (or at it, if inclusive). */
export function lowerBound(time: EpochMs, { inclusive, hidden }: Bound): EpochMs {
  if (hidden) return inclusive ? time : time + 1
  return inclusive ? Math.ceil(time / second) * second : (Math.floor(time / second) + 1) * second
}

/** The first millisecond that is no longer before `time` (or at it, if inclusive). */
export function upperBound(time: EpochMs, { inclusive, hidden }: Bound): EpochMs {
  if (hidden) return inclusive ? time + 1 : time
  return inclusive ? (Math.floor(time / second) + 1) * second : Math.ceil(time / second) * second
}
