/**
 * Services that limit a key in the common ways; each reports whether it would have answered 429.
 */
import { limiters } from '../../../src/sandbox/rate-limit.ts'
import type { BudgetPolicy } from '../../../src/service/core/budget-policy.ts'

export type LimitedServer = {
  readonly name: string
  /** A request is counted at `at` (milliseconds, never falling). False: over the limit. */
  readonly admit: (at: number) => boolean
}

export const limit = 600
export const windowMs = 60_000

/** The budget of a client that knows these limits. */
export const policy: BudgetPolicy = {
  rate: { requests: limit, windowMs },
  writeRate: { requests: 120, windowMs },
  reserve: 0,
  rateMargin: 0.02,
}

/**
 * Windows that start at `phase` and every minute after; a request over the limit is not counted.
 */
export function fixedWindow(phase: number, allowed = limit): LimitedServer {
  const admit = counter(phase)
  return { name: `fixed window from ${phase} ms`, admit: (at) => admit(at).now <= allowed }
}

/** Remembers the time of every request. */
export function slidingLog(allowed = limit): LimitedServer {
  const log: number[] = []
  let oldest = 0
  const admit = (at: number) => {
    while ((log[oldest] ?? at) <= at - windowMs) oldest += 1
    log.push(at)
    return log.length - oldest <= allowed
  }
  return { name: 'sliding log', admit }
}

/** Windows that start with the first request after the one before: a counter that expires. */
export function startedWindow(allowed = limit): LimitedServer {
  let [start, now] = [Number.NEGATIVE_INFINITY, 0]
  const admit = (at: number) => {
    if (at >= start + windowMs) [start, now] = [at, 0]
    now += 1
    return now <= allowed
  }
  return { name: 'window that starts with a request', admit }
}

/** A sliding window of 61 counters for whole seconds, which begin at `phase`. */
export function wholeSeconds(phase: number, allowed = limit): LimitedServer {
  const counts = new Map<number, number>()
  const admit = (at: number) => {
    const second = Math.floor((at - phase) / 1000)
    counts.set(second, (counts.get(second) ?? 0) + 1)
    let counted = 0
    for (let before = second - 60; before <= second; before += 1) counted += counts.get(before) ?? 0
    return counted <= allowed
  }
  return { name: `sliding window of whole seconds from ${phase} ms`, admit }
}

/** Holds a window's worth of tokens, and gets ten new ones each second. */
export function tokenBucket(allowed = limit): LimitedServer {
  let tokens = allowed
  let filledAt = 0
  const admit = (at: number) => {
    tokens = Math.min(allowed, tokens + ((at - filledAt) * allowed) / windowMs)
    filledAt = at
    tokens -= 1
    return tokens >= 0
  }
  return { name: 'token bucket', admit }
}

/**
 * Estimates the sliding window from two fixed ones, as Cloudflare describes: before × (1 − elapsed
 * share) + this.
 */
export function approximateSliding(phase: number, allowed = limit): LimitedServer {
  const admit = counter(phase)
  return {
    name: `approximate sliding window from ${phase} ms`,
    admit: (at) => {
      const { before, now, elapsed } = admit(at)
      return before * (1 - elapsed) + now <= allowed
    },
  }
}

/** As the sandbox counts, with this value of its switch `rate.kind`. */
export function sandboxServer(
  kind: keyof typeof limiters,
  allowed = limit,
  burst = allowed,
): LimitedServer {
  const limiter = limiters[kind](allowed, windowMs, burst)
  const admit = (at: number) => {
    const isAdmitted = limiter.waitMs(at) === 0
    if (isAdmitted) limiter.count(at)
    return isAdmitted
  }
  return { name: `${kind} in the sandbox`, admit }
}

/** Phases that do not match the client's times. */
const phases = [0, 7_300, 18_900, 29_999, 44_100, 59_000]

/** Those that count each request once, in windows of exactly that length. */
export function exactServers(allowed = limit): readonly LimitedServer[] {
  const windows = phases.map((phase) => fixedWindow(phase, allowed))
  return [...windows, startedWindow(allowed), slidingLog(allowed), tokenBucket(allowed)]
}

/** Also those that estimate. */
export function everyServer(allowed = limit): readonly LimitedServer[] {
  return [...exactServers(allowed), ...phases.map((phase) => approximateSliding(phase, allowed))]
}

/**
 * The servers that would have refused a request at these times, each with the first refused time.
 */
export function refusals(
  servers: readonly LimitedServer[],
  times: readonly number[],
): readonly string[] {
  return servers.flatMap((server) => {
    const first = times.find((at) => !server.admit(at))
    return first === undefined ? [] : [`${server.name} at ${first} ms`]
  })
}

function counter(phase: number) {
  let window = Number.NEGATIVE_INFINITY
  let before = 0
  let now = 0
  return (at: number) => {
    const position = (at - phase) / windowMs
    const current = Math.floor(position)
    if (current !== window) {
      before = current === window + 1 ? now : 0
      now = 0
      window = current
    }
    now += 1
    return { before, now, elapsed: position - current }
  }
}
