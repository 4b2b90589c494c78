/** Results of expensive reads, by a key: one read at a time for each key, and its result for a while. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { EpochMs, Ms } from '../values/time.ts'

type Remembered<T> = { value: T | null; at: EpochMs; failed: Failed | null; pending: Pending<T> | null }
type Failed = { readonly error: unknown; readonly at: EpochMs }
/** `readers`: who waits for it. */
type Pending<T> = { readonly result: Promise<T>; readonly stop: AbortController; readers: number }

type RememberOptions<Input, T> = {
  readonly maxAgeMs: Ms
  readonly now: () => EpochMs
  /** `signal`: nobody waits for it any more. */
  readonly read: (input: Input, signal: AbortSignal) => Promise<T>
  /** Keys that are remembered at once, such as the projects that people look at. */
  readonly maxKeys?: number
}

const unaskedMs: Ms = 60_000
/** So long everybody who asks gets the failure, and nothing is read again. */
const failedHoldMs: Ms = 10_000

export function rememberResults<Input, T>({ maxAgeMs, now, read, maxKeys = 100 }: RememberOptions<Input, T>) {
  const byKey = new Map<string, Remembered<T>>()
  const entryOf = (key: string): Remembered<T> => {
    const entry = byKey.get(key) ?? { value: null, at: 0, failed: null, pending: null }
    byKey.delete(key)
    byKey.set(key, entry)
    const [oldest] = byKey.keys()
    if (byKey.size > maxKeys && oldest !== undefined) byKey.delete(oldest)
    return entry
  }
  const refresh = (entry: Remembered<T>, input: Input): Pending<T> => {
    const stop = new AbortController()
    const result = read(input, stop.signal)
      .then((value) => {
        Object.assign(entry, { value, at: now(), failed: null })
        return value
      })
      .catch((error: unknown) => {
        if (!stop.signal.aborted) entry.failed = { error, at: now() }
        throw error
      })
      .finally(() => {
        if (entry.pending === pending) entry.pending = null
      })
    const pending: Pending<T> = { result, stop, readers: 0 }
    return pending
  }
  /** Ends the read when all who wait for it have left. */
  const join = (entry: Remembered<T>, input: Input, signal?: AbortSignal): Promise<T> => {
    entry.pending ??= refresh(entry, input)
    const { pending } = entry
    pending.readers += 1
    signal?.addEventListener('abort', () => {
      pending.readers -= 1
      if (pending.readers > 0) return
      pending.stop.abort()
      if (entry.pending === pending) entry.pending = null
    })
    return pending.result
  }
  const isYounger = (at: EpochMs, ms: Ms) => now() >= at && now() - at < ms
  const youngerThan = (ms: Ms, { value, at }: Remembered<T>) => (isYounger(at, ms) ? value : null)
  return {
    /** A failure is not remembered: the next call reads again. `signal`: the caller has left. */
    get: async (key: string, input: Input, signal?: AbortSignal): Promise<T> => {
      signal?.throwIfAborted()
      const entry = entryOf(key)
      return youngerThan(maxAgeMs, entry) ?? join(entry, input, signal)
    },
    /**
     * What is known within that time, at most twice as old as it may be; null: nothing yet. Goes on reading in the background,
     * but ends if the caller leaves before, or if nobody asks again for a minute. Rejects if that has failed.
     */
    soon: async (key: string, input: Input, waitMs: Ms, signal?: AbortSignal): Promise<T | null> => {
      signal?.throwIfAborted()
      const entry = entryOf(key)
      const known = youngerThan(maxAgeMs, entry)
      if (known !== null) return known
      if (entry.failed !== null && isYounger(entry.failed.at, failedHoldMs)) throw entry.failed.error
      const leaves = [AbortSignal.timeout(unaskedMs), ...(signal === undefined ? [] : [signal])]
      const result = join(entry, input, AbortSignal.any(leaves))
      return Promise.race([result, sleep(waitMs, youngerThan(2 * maxAgeMs, entry), { ref: false })])
    },
  }
}

/** One at a time, for work that keeps the process busy. */
export function createTurns() {
  let last: Promise<unknown> = Promise.resolve()
  return <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work)
    last = turn.catch(() => {})
    return turn
  }
}

/** Rejects after `timeoutMs`. The work itself continues. */
export function withTimeout<T>(timeoutMs: Ms, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`no response within ${timeoutMs / 1000} s`)), timeoutMs)
  return Promise.race([work, promise]).finally(() => clearTimeout(timer))
}
