/** The service's own clock: its start and its speed can be chosen. */
import { performance } from 'node:perf_hooks'
import { type EpochMs, type Ms, parseTime } from '../core/time.ts'

export type ServiceClock = ReturnType<typeof createServiceClock>

/** `speed`: seconds of this clock per real second; 0 = it moves only by `advance`. Throws RangeError for an invalid start. */
export function createServiceClock(start: string, speed: number) {
  const seconds = parseTime(start)
  if (seconds === undefined) throw new RangeError(`${start} is not an RFC 3339 time`)
  const began = performance.now()
  let ahead: Ms = 0
  return {
    start: seconds * 1000,
    now: (): EpochMs => Math.floor(seconds * 1000 + (performance.now() - began) * speed + ahead),
    advance(ms: Ms) {
      if (!(ms >= 0)) throw new RangeError('the clock moves forwards only')
      ahead += ms
    },
  }
}

/** This machine's clock, which is never set back: rate limits and the request log use real time. */
export function realNow(): EpochMs {
  return performance.timeOrigin + performance.now()
}
