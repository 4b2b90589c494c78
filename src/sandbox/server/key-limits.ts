/** The rate limits of each key: one for all requests, a second one for writes. */
import type { EpochMs } from '../../core/time.ts'
import { Problem } from '../api/problem.ts'
import type { Switches } from '../switches.ts'
import { type Limiter, limiters } from './rate-limit.ts'

export function createKeyLimits(switches: () => Switches) {
  const keys = new Map<string, { readonly all: Limiter; readonly writes: Limiter }>()
  const createLimiters = () => {
    const s = switches()
    const createLimiter = (limit: number) =>
      limiters[s['rate.kind']](Math.max(0, limit - s['rate.foreign']), s['rate.window'] * 1000)
    return { all: createLimiter(s['rate.limit']), writes: createLimiter(s['rate.writes']) }
  }
  return {
    /** Counts a request that arrives now. Throws Problem if the limit is reached; then it is not counted. */
    countRequest(keyId: string, write: boolean, now: EpochMs) {
      const limits = keys.get(keyId) ?? createLimiters()
      keys.set(keyId, limits)
      const waitMs = Math.max(limits.all.waitMs(now), write ? limits.writes.waitMs(now) : 0)
      if (waitMs > 0) throw new Problem('rate_limited', 'Too many requests; back off', { retryAfterMs: waitMs })
      limits.all.count(now)
      if (write) limits.writes.count(now)
    },
    /** Resets the counts, and applies the limits of the current switches. */
    reset: () => keys.clear(),
  }
}
