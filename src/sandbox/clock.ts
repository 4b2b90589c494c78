/** The service's own clock: it starts where it is told, and goes on as fast as it is told. */
import { performance } from 'node:perf_hooks'
import { type EpochMs, type Ms, parseTime } from '../core/time.ts'

export type ServiceClock = {
  /** Where it started. */
  readonly start: EpochMs
  readonly now: () => EpochMs
  readonly advance: (ms: Ms) => void
}

/** `speed`: its seconds in a real one; 0 = it moves only by `advance`. Throws a RangeError for a start that is no time. */
export function createServiceClock(start: string, speed: number): ServiceClock {
  const seconds = parseTime(start)
  if (seconds === undefined) throw new RangeError(`${start} is not an RFC 3339 time`)
  const began = performance.now()
  let ahead: Ms = 0
  return {
    start: seconds * 1000,
    now: () => Math.floor(seconds * 1000 + (performance.now() - began) * speed + ahead),
    advance(ms) {
      if (!(ms >= 0)) throw new RangeError('the clock moves forwards only')
      ahead += ms
    },
  }
}

/** This machine's clock, which no correction sets back: the limits and the journal are kept in real time. */
export function realNow(): EpochMs {
  return performance.timeOrigin + performance.now()
}
