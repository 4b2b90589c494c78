/** Retries while the warehouse is away, as during a restart. What is retried may be done twice. */
import pRetry from 'p-retry'
import type { Ms } from '../values/time.ts'
import { isWarehouseUnavailable } from './explain-error.ts'

export type WarehouseRetry = {
  /** `work` must be idempotent: it may be done although its response is lost. */
  readonly run: <T>(work: () => Promise<T>) => Promise<T>
  readonly isWarehouseAway: () => boolean
}

export type WarehouseRetryOptions = {
  /** Ends the retries; the last error is thrown. */
  readonly signal?: AbortSignal
  /** Reports the outage once, and its end once. */
  readonly notify?: (line: string) => void
  readonly maxMs?: Ms
}

/**
 * Failures are thrown: pages fail soon, workers repeat jobs, migrations continue when restarted.
 */
export const noRetry: WarehouseRetry = { run: (work) => work(), isWarehouseAway: () => false }

const defaultMaxMs: Ms = 5 * 60_000

/** A closed connection is replaced at once, so the first failures are not reported. */
const silentAttempts = 2

export function createWarehouseRetry({
  signal,
  notify = () => {},
  maxMs = defaultMaxMs,
}: WarehouseRetryOptions): WarehouseRetry {
  const waiting = new Set<symbol>()
  let hasNotified = false

  const onFailed = (attempt: symbol, attempts: number, error: Error) => {
    if (!isWarehouseUnavailable(error)) return
    waiting.add(attempt)
    if (hasNotified || attempts < silentAttempts) return
    hasNotified = true
    notify(`${error.what}: ${error.why}; trying again for ${Math.round(maxMs / 60_000)} minutes`)
  }
  const onSucceeded = () => {
    waiting.clear()
    if (!hasNotified) return
    hasNotified = false
    notify('the warehouse answers again')
  }

  return {
    isWarehouseAway: () => waiting.size > 0,
    run: async (work) => {
      const attempt = Symbol('work')
      const result = await pRetry(work, {
        retries: Number.POSITIVE_INFINITY,
        minTimeout: 200,
        factor: 1.5,
        maxTimeout: 2000,
        randomize: true,
        maxRetryTime: maxMs,
        shouldRetry: ({ error }) => isWarehouseUnavailable(error) && signal?.aborted !== true,
        onFailedAttempt: ({ error, attemptNumber }) => onFailed(attempt, attemptNumber, error),
      }).finally(() => waiting.delete(attempt))
      onSucceeded()
      return result
    },
  }
}

type ReadVerb = 'read' | 'list' | 'find' | 'count' | 'has' | 'group' | 'name' | 'digest'

/**
 * Functions that may be done again although only their answer was lost: the name begins with the
 * verb of a read, or it is marked, as `settle.mayRepeat = true as const`.
 */
export type Repeatable<F> = {
  readonly [N in keyof F]: N extends `${ReadVerb}${string}`
    ? F[N]
    : F[N] & { readonly mayRepeat: true }
}

/** The same functions, retried. */
export function retryAllMethods<T extends object>({ run }: WarehouseRetry, port: T): T {
  const retrying = Object.entries(port).map(([name, method]) => [
    name,
    (...values: unknown[]) => run(() => method(...values)),
  ])
  return Object.fromEntries(retrying)
}
