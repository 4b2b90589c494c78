/** An answer that is expensive to get: asked for once at a time, and kept for a while, however many want it. */
import type { EpochMs, Ms } from '../core/time.ts'

/** A failure is not kept: whoever asks after it asks anew. */
export function cacheResult<T>(read: () => Promise<T>, maxAgeMs: Ms, now: () => EpochMs): () => Promise<T> {
  let pending: Promise<T> | null = null
  let last: { readonly value: T; readonly at: EpochMs } | null = null
  // A clock that was set back makes the answer too old, never too young.
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

/** Rejects where no answer came within `patienceMs`. The question itself goes on. */
export function withTimeout<T>(timeoutMs: Ms, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs / 1000} s`)), timeoutMs)
  return Promise.race([work, promise]).finally(() => clearTimeout(timer))
}
