/** What `since`, `from`, `to` and `before` mean to a service whose clock is finer than the times that it shows. Pure. */
import type { EpochMs } from '../../core/time.ts'

/** `hidden`: fractions take part in the comparison; else a row's time is cut to its second first. */
export type Bound = { readonly inclusive: boolean; readonly hidden: boolean }

const second = 1000

/** The first millisecond that lies after `moment` (or at it, where inclusive). */
export function lowerBound(moment: EpochMs, { inclusive, hidden }: Bound): EpochMs {
  if (hidden) return inclusive ? moment : moment + 1
  return inclusive ? Math.ceil(moment / second) * second : (Math.floor(moment / second) + 1) * second
}

/** The first millisecond that no longer lies before `moment` (or at it, where inclusive). */
export function upperBound(moment: EpochMs, { inclusive, hidden }: Bound): EpochMs {
  if (hidden) return inclusive ? moment + 1 : moment
  return inclusive ? (Math.floor(moment / second) + 1) * second : Math.ceil(moment / second) * second
}
