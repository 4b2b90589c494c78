/** Results of expensive reads, by a key: one read at a time for each key, and its result for a while. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { EpochMs, Ms } from '../core/time.ts'

type Remembered<T> = { value: T | null; at: EpochMs; pending: Promise<T> | null }

/** Keys that are remembered at once: the projects that people look at. */
const maxKeys = 100

export function rememberResults<Input, T>(maxAgeMs: Ms, now: () => EpochMs, read: (input: Input) => Promise<T>) {
  const byKey = new Map<string, Remembered<T>>()
  const entryOf = (key: string): Remembered<T> => {
    const entry = byKey.get(key) ?? { value: null, at: 0, pending: null }
    byKey.delete(key)
    byKey.set(key, entry)
    const [oldest] = byKey.keys()
    if (byKey.size > maxKeys && oldest !== undefined) byKey.delete(oldest)
    return entry
  }
  const refresh = async (entry: Remembered<T>, input: Input): Promise<T> => {
    try {
      const value = await read(input)
      Object.assign(entry, { value, at: now() })
      return value
    } finally {
      entry.pending = null
    }
  }
  const isFresh = ({ value, at }: Remembered<T>) => value !== null && now() >= at && now() - at < maxAgeMs
  return {
    /** A failure is not remembered: the next call reads again. */
    get: async (key: string, input: Input): Promise<T> => {
      const entry = entryOf(key)
      if (entry.value !== null && isFresh(entry)) return entry.value
      entry.pending ??= refresh(entry, input)
      return entry.pending
    },
    /** What is known within that time, however old; null: nothing yet. Reads again in the background. */
    soon: async (key: string, input: Input, waitMs: Ms): Promise<T | null> => {
      const entry = entryOf(key)
      if (isFresh(entry)) return entry.value
      entry.pending ??= refresh(entry, input)
      entry.pending.catch(() => {})
      if (entry.value !== null) return entry.value
      return Promise.race([entry.pending.catch(() => null), sleep(waitMs, null, { ref: false })])
    },
  }
}
