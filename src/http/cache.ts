/** Caches the result of an expensive read: one read at a time, and its result for a while. */
import type { EpochMs, Ms } from '../values/time.ts'

/** A failure is not cached: the next call reads again. */
export function cacheResult<T>(read: () => Promise<T>, maxAgeMs: Ms, now: () => EpochMs): () => Promise<T> {
  let pending: Promise<T> | null = null
  let last: { readonly value: T; readonly at: EpochMs } | null = null
  // If the clock is set back, the result counts as too old.
  const isFresh = (at: EpochMs) => now() >= at && now() - at < maxAgeMs
  const refresh = async () => {
    try {
      const value = await read()
      last = { value, at: now() }
      return value
    } finally {
      pending = null
    }
  }
  return async () => {
    if (last !== null && isFresh(last.at)) return last.value
    pending ??= refresh()
    return pending
  }
}

/** Rejects after `timeoutMs`. The work itself continues. */
export function withTimeout<T>(timeoutMs: Ms, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`no response within ${timeoutMs / 1000} s`)), timeoutMs)
  return Promise.race([work, promise]).finally(() => clearTimeout(timer))
}
