/** The algorithms by which a service may count requests in a window, and the limits of each key. */
import type { EpochMs, Ms } from '../values/time.ts'
import { Problem } from './problem.ts'
import type { Switches } from './switches.ts'

type Limiter = {
  /** Milliseconds until one more request is allowed; 0 = now. */
  readonly waitMs: (now: EpochMs) => Ms
  readonly count: (now: EpochMs) => void
}

export const limiters: Record<
  Switches['rate.kind'],
  (limit: number, windowMs: Ms, burst?: number) => Limiter
> = {
  off: () => ({ waitMs: () => 0, count: () => undefined }),
  /** Windows aligned to the clock: each starts at zero. */
  fixed: (limit, windowMs) =>
    separateWindows(limit, windowMs, (now) => Math.floor(now / windowMs) * windowMs),
  /** Each window starts with the first request after the one before: a counter that expires. */
  started: (limit, windowMs) => separateWindows(limit, windowMs, (now) => now),
  /** Exact: no interval of the window's length, wherever it starts, holds more. */
  sliding: (limit, windowMs) => slidingWindow(limit, windowMs, (now) => now),
  /** In whole sixtieths, so the window is longer by one. */
  coarse: (limit, windowMs) =>
    slidingWindow(limit, windowMs, (now) => nextMultiple(now, windowMs / 60)),
  bucket: tokenBucket,
  estimated: estimatedWindow,
}

const nextMultiple = (now: EpochMs, step: Ms): EpochMs => (Math.floor(now / step) + 1) * step

/** `startOf`: where the window starts whose first request arrives now. */
function separateWindows(limit: number, windowMs: Ms, startOf: (now: EpochMs) => EpochMs): Limiter {
  let start = Number.NEGATIVE_INFINITY
  let counted = 0
  return {
    waitMs(now) {
      const [from, seen] = now >= start + windowMs ? [startOf(now), 0] : [start, counted]
      return seen < limit ? 0 : from + windowMs - now
    },
    count(now) {
      if (now >= start + windowMs) [start, counted] = [startOf(now), 0]
      counted += 1
    },
  }
}

/** `timeOf`: the time at which a request that arrives now is counted. */
function slidingWindow(limit: number, windowMs: Ms, timeOf: (now: EpochMs) => EpochMs): Limiter {
  const times: EpochMs[] = []
  return {
    waitMs(now) {
      while (times[0] !== undefined && times[0] <= now - windowMs) times.shift()
      if (times.length < limit) return 0
      return limit < 1 ? windowMs : (times[times.length - limit] ?? now) + windowMs - now
    },
    count: (now) => void times.push(timeOf(now)),
  }
}

/** A token bucket that refills evenly with a window's requests. */
function tokenBucket(limit: number, windowMs: Ms, burst = limit): Limiter {
  let level = burst
  let at = 0
  const perMs = limit / windowMs
  const refill = (now: EpochMs) => {
    level = Math.min(burst, level + Math.max(0, now - at) * perMs)
    at = now
  }
  return {
    waitMs(now) {
      refill(now)
      return level >= 1 ? 0 : Math.ceil((1 - level) / perMs)
    },
    count(now) {
      refill(now)
      level -= 1
    },
  }
}

/** Two counters: the previous window counts for the share that a sliding one would still cover. */
function estimatedWindow(limit: number, windowMs: Ms): Limiter {
  let start = 0
  let before = 0
  let current = 0
  const rollWindow = (now: EpochMs) => {
    const window = Math.floor(now / windowMs) * windowMs
    if (window !== start)
      [start, before, current] = [window, window === start + windowMs ? current : 0, 0]
  }
  // The time at which the counted share is small enough, in this window or in the next.
  const timeUntilFree = (from: EpochMs, seen: number, free: number) =>
    Math.floor(from + windowMs * (1 - free / seen)) + 1
  return {
    waitMs(now) {
      rollWindow(now)
      const share = 1 - (now - start) / windowMs
      if (before * share + current < limit) return 0
      if (current < limit) return timeUntilFree(start, before, limit - current) - now
      return timeUntilFree(start + windowMs, current, limit) - now
    },
    count(now) {
      rollWindow(now)
      current += 1
    },
  }
}

/** The limits of each key: one for all requests, a second one for writes. */
export function createKeyLimits(switches: () => Switches) {
  const keys = new Map<string, { readonly all: Limiter; readonly writes: Limiter }>()
  const createLimiters = () => {
    const s = switches()
    const createLimiter = (limit: number) => {
      const burst = s['rate.burst'] === 0 ? undefined : s['rate.burst']
      return limiters[s['rate.kind']](
        Math.max(0, limit - s['rate.foreign']),
        s['rate.window'] * 1000,
        burst,
      )
    }
    return { all: createLimiter(s['rate.limit']), writes: createLimiter(s['rate.writes']) }
  }
  return {
    /** Throws Problem if the limit is reached; then it is not counted. */
    countRequest(keyId: string, write: boolean, now: EpochMs) {
      const limits = keys.get(keyId) ?? createLimiters()
      keys.set(keyId, limits)
      const waitMs = Math.max(limits.all.waitMs(now), write ? limits.writes.waitMs(now) : 0)
      if (waitMs > 0)
        throw new Problem('rate_limited', 'Too many requests; back off', { retryAfterMs: waitMs })
      limits.all.count(now)
      if (write) limits.writes.count(now)
    },
    /** Resets the counts, and applies the limits of the current switches. */
    reset: () => keys.clear(),
  }
}
