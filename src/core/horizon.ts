/**
 * How far a row may carry a cursor: to the smaller of the two clocks, the service's (the `Date` of an answer) and this
 * machine's, at the moment of asking. What comes from then on may be dated anywhere beyond. A clock that is far behind
 * costs rows that are read again, never rows that are missed.
 */
import type { EpochMs, Seconds } from './time.ts'

/** Seconds by which clocks may differ without a word: a row that is further ahead is dated ahead. */
export const tolerated: Seconds = 60

export type Heard = {
  /** `Date` of the answer, null where there is none. */
  readonly servedAt: Seconds | null
  /** When the request left and when its answer was here, by this machine's clock. */
  readonly askedAt: EpochMs
  readonly answeredAt: EpochMs
}

export function horizonOf({ servedAt, askedAt, answeredAt }: Heard): Seconds {
  const here = Math.floor(askedAt / 1000)
  if (servedAt === null) return here
  // Part of a second is no matter: every question overlaps by one.
  const took = Math.max(0, Math.floor((answeredAt - askedAt) / 1000))
  return Math.min(here, servedAt - took)
}
