/**
 * Results of expensive reads, by a key: one read at a time for each key, and its result for a
 * while.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { EpochMs, Ms } from '../values/time.ts'

type Remembered<T> = {
  value: T | null
  at: EpochMs
  failed: { readonly error: unknown; readonly at: EpochMs } | null
  pending: Promise<T> | null
}

/** So long everybody who asks gets the failure, and nothing is read again. */
const failedHoldMs: Ms = 10_000

export function rememberResults<Input, T>({
  maxAgeMs,
  now,
  read,
  maxKeys = 100,
}: {
  readonly maxAgeMs: Ms | ((value: T) => Ms)
  readonly now: () => EpochMs
  readonly read: (input: Input) => Promise<T>
  /** Keys that are remembered at once, such as the projects that people look at. */
  readonly maxKeys?: number
}) {
  const byKey = new Map<string, Remembered<T>>()
  const entryOf = (key: string): Remembered<T> => {
    const entry = byKey.get(key) ?? { value: null, at: 0, failed: null, pending: null }
    byKey.delete(key)
    byKey.set(key, entry)
    const [oldest] = byKey.keys()
    if (byKey.size > maxKeys && oldest !== undefined) byKey.delete(oldest)
    return entry
  }
  const refresh = (entry: Remembered<T>, input: Input): Promise<T> => {
    entry.pending ??= read(input)
      .then((value) => {
        Object.assign(entry, { value, at: now(), failed: null })
        return value
      })
      .catch((error: unknown) => {
        entry.failed = { error, at: now() }
        throw error
      })
      .finally(() => {
        entry.pending = null
      })
    return entry.pending
  }
  const isYounger = (at: EpochMs, ms: Ms) => now() >= at && now() - at < ms
  const known = ({ value, at }: Remembered<T>, times = 1) => {
    if (value === null) return null
    const ageMs = typeof maxAgeMs === 'function' ? maxAgeMs(value) : maxAgeMs
    return isYounger(at, times * ageMs) ? value : null
  }
  return {
    /** A failure is not remembered: the next call reads again. */
    get: async (key: string, input: Input): Promise<T> => {
      const entry = entryOf(key)
      return known(entry) ?? refresh(entry, input)
    },
    /**
     * What is known within that time, at most twice as old as it may be; null: nothing yet. Goes on
     * reading in the background. Rejects if that has failed.
     */
    soon: async (key: string, input: Input, waitMs: Ms): Promise<T | null> => {
      const entry = entryOf(key)
      const fresh = known(entry)
      if (fresh !== null) return fresh
      if (entry.failed !== null && isYounger(entry.failed.at, failedHoldMs))
        throw entry.failed.error
      return Promise.race([refresh(entry, input), sleep(waitMs, known(entry, 2), { ref: false })])
    },
  }
}

/** Rejects after `timeoutMs`. The work itself continues. */
export function withTimeout<T>(timeoutMs: Ms, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => reject(new Error(`no response within ${timeoutMs / 1000} s`)),
    timeoutMs,
  )
  return Promise.race([work, promise]).finally(() => clearTimeout(timer))
}
