/** Patience with a warehouse that is away for a while: Postgres is restarted, or somebody else holds the SQLite file. */
import pRetry from 'p-retry'
import type { Ms } from '../core/time.ts'
import { isWarehouseUnavailable } from '../warehouse/database/explain-error.ts'

export type WarehouseRetry = {
  /** Tries again while the warehouse is away. `work` may have been done although its answer was lost: it must bear a repetition. */
  readonly run: <T>(work: () => Promise<T>) => Promise<T>
  readonly isWarehouseAway: () => boolean
}

export type WarehouseRetryOptions = {
  /** Ends the waiting, with the error that it waits for the end of. */
  readonly signal?: AbortSignal
  /** Tells a person, once an outage and once its end. */
  readonly tell?: (line: string) => void
  readonly ms?: Ms
}

const defaultMaxMs: Ms = 5 * 60_000

/** A connection that somebody ended is replaced at once, and not worth a word. */
const silentAttempts = 2

export function createWarehouseRetry({ signal, tell = () => {}, ms = defaultMaxMs }: WarehouseRetryOptions): WarehouseRetry {
  const waiting = new Set<symbol>()
  let hasNotified = false

  const onFailed = (attempt: symbol, attempts: number, error: Error) => {
    if (!isWarehouseUnavailable(error)) return
    waiting.add(attempt)
    if (hasNotified || attempts < silentAttempts) return
    hasNotified = true
    tell(`${error.what}: ${error.why}; trying again for ${Math.round(ms / 60_000)} minutes`)
  }
  const onSucceeded = () => {
    waiting.clear()
    if (!hasNotified) return
    hasNotified = false
    tell('the warehouse answers again')
  }

  return {
    isWarehouseAway: () => waiting.size > 0,
    run: async (work) => {
      const attempt = Symbol('work')
      const done = await pRetry(work, {
        retries: Number.POSITIVE_INFINITY,
        minTimeout: 200,
        factor: 1.5,
        maxTimeout: 2000,
        randomize: true,
        maxRetryTime: ms,
        shouldRetry: ({ error }) => isWarehouseUnavailable(error) && signal?.aborted !== true,
        onFailedAttempt: ({ error, attemptNumber }) => onFailed(attempt, attemptNumber, error),
      }).finally(() => waiting.delete(attempt))
      onSucceeded()
      return done
    },
  }
}
