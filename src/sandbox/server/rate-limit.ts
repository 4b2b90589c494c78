/** The algorithms by which a service may count requests in a window. Each returns the wait, and counts allowed requests. */
import type { EpochMs, Ms } from '../../core/time.ts'

export type Limiter = {
  /** Milliseconds until one more request is allowed; 0 = now. */
  readonly waitMs: (now: EpochMs) => Ms
  readonly count: (now: EpochMs) => void
}

export type LimiterKind = 'fixed' | 'started' | 'sliding' | 'coarse' | 'bucket' | 'estimated' | 'off'

export const limiters: Record<LimiterKind, (limit: number, windowMs: Ms) => Limiter> = {
  off: () => ({ waitMs: () => 0, count: () => undefined }),
  fixed: fixedWindow,
  started: startedWindow,
  sliding: slidingWindow,
  coarse: coarseWindow,
  bucket: tokenBucket,
  estimated: estimatedWindow,
}

/** Windows aligned to the clock: each starts at zero. */
function fixedWindow(limit: number, windowMs: Ms): Limiter {
  let [start, counted] = [0, 0]
  const rollWindow = (now: EpochMs) => {
    const current = Math.floor(now / windowMs) * windowMs
    if (current !== start) [start, counted] = [current, 0]
  }
  return {
    waitMs(now) {
      rollWindow(now)
      return counted < limit ? 0 : start + windowMs - now
    },
    count(now) {
      rollWindow(now)
      counted += 1
    },
  }
}

/** Each window starts with the first request after the one before: a counter that expires. */
function startedWindow(limit: number, windowMs: Ms): Limiter {
  let [start, counted] = [Number.NEGATIVE_INFINITY, 0]
  return {
    waitMs: (now) => (counted < limit || now >= start + windowMs ? 0 : start + windowMs - now),
    count(now) {
      if (now >= start + windowMs) [start, counted] = [now, 0]
      counted += 1
    },
  }
}

/** Exact: no interval of the window's length, wherever it starts, holds more. */
function slidingWindow(limit: number, windowMs: Ms): Limiter {
  let times: EpochMs[] = []
  let oldest = 0
  const dropExpired = (now: EpochMs) => {
    while (oldest < times.length && (times[oldest] ?? 0) <= now - windowMs) oldest += 1
    if (oldest > 4096) [times, oldest] = [times.slice(oldest), 0]
  }
  return {
    waitMs(now) {
      dropExpired(now)
      if (times.length - oldest < limit) return 0
      return limit < 1 ? windowMs : (times[times.length - limit] ?? now) + windowMs - now
    },
    count: (now) => {
      times.push(now)
    },
  }
}

/** A sliding window in whole sixtieths: the oldest of them counts until all of it has left, so the window is longer by one. */
function coarseWindow(limit: number, windowMs: Ms): Limiter {
  const stepMs = windowMs / 60
  const counts = new Map<number, number>()
  const stepOf = (at: EpochMs) => Math.floor(at / stepMs)
  const dropExpired = (now: EpochMs) => {
    for (const step of counts.keys()) if ((step + 1) * stepMs <= now - windowMs) counts.delete(step)
  }
  return {
    waitMs(now) {
      dropExpired(now)
      let excess = [...counts.values()].reduce((sum, count) => sum + count, 0) - limit + 1
      if (excess <= 0) return 0
      for (const [step, count] of counts) {
        excess -= count
        if (excess <= 0) return (step + 1) * stepMs + windowMs - now
      }
      return windowMs
    },
    count(now) {
      counts.set(stepOf(now), (counts.get(stepOf(now)) ?? 0) + 1)
    },
  }
}

/** A token bucket that holds a window's requests and refills evenly. */
function tokenBucket(limit: number, windowMs: Ms): Limiter {
  let [level, at] = [limit, 0]
  const perMs = limit / windowMs
  const refill = (now: EpochMs) => {
    level = Math.min(limit, level + Math.max(0, now - at) * perMs)
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

/** Two counters: the previous window counts for the share of it that a sliding window would still cover. */
function estimatedWindow(limit: number, windowMs: Ms): Limiter {
  let [start, before, current] = [0, 0, 0]
  const rollWindow = (now: EpochMs) => {
    const window = Math.floor(now / windowMs) * windowMs
    if (window === start) return
    before = window === start + windowMs ? current : 0
    current = 0
    start = window
  }
  return {
    waitMs(now) {
      rollWindow(now)
      const share = 1 - (now - start) / windowMs
      if (before * share + current < limit) return 0
      // The time at which the counted share is small enough, in this window or in the next.
      const timeUntilFree = (from: EpochMs, seen: number, free: number) =>
        Math.floor(from + windowMs * (1 - free / seen)) + 1
      return (
        (current < limit
          ? timeUntilFree(start, before, limit - current)
          : timeUntilFree(start + windowMs, current, limit)) - now
      )
    },
    count(now) {
      rollWindow(now)
      current += 1
    },
  }
}
