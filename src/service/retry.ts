/** Retries single reads. No write is; children, jobs and the warehouse have their own retries. */
import { setTimeout as sleep } from 'node:timers/promises'
import pRetry from 'p-retry'
import type { Ms } from '../values/time.ts'
import { ApiError, type ApiFailure, tooLargeBody } from './core/api-failure.ts'

/** While the service has never responded: a wrong address should be reported soon. */
const attemptsWithoutResponse = 3

export type RetryPolicy = {
  /** Attempts of one read, including the first. A 429 does not count as one. */
  readonly attempts: number
  /** The n-th retry waits a random part of `baseMs` × 2^(n−1), at most `capMs`. */
  readonly baseMs: Ms
  readonly capMs: Ms
  /** The read fails when the waits that the service asked for exceed this sum. */
  readonly maxRequestedWaitMs: Ms
}

export const defaultRetryPolicy: RetryPolicy = {
  attempts: 8,
  baseMs: 250,
  capMs: 20_000,
  maxRequestedWaitMs: 900_000,
}

/**
 * Caps the share of retries, so that an outage does not multiply the load: each read earns 0.6 of a
 * retry, on top of a small stock, so that a quarter of all requests may fail.
 */
export function createRetryBudget() {
  const maxTokens = 100
  let tokens = 30
  return {
    deposit: () => {
      tokens = Math.min(maxTokens, tokens + 0.6)
    },
    tryWithdraw: () => {
      if (tokens < 1) return false
      tokens -= 1
      return true
    },
  }
}

/** Throws ApiError after the last attempt, at once when the signal is aborted. */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  deps: {
    readonly policy: RetryPolicy
    readonly retryBudget: ReturnType<typeof createRetryBudget>
    /** 0 to below 1. */
    readonly random: () => number
    readonly signal: AbortSignal
    readonly hasServiceResponded: () => boolean
    readonly onRetry: (failure: ApiFailure, waitMs: Ms) => void
    /** A smaller request may be made, so an answer that is too large is not asked for again. */
    readonly canBeSmaller?: boolean
  },
): Promise<T> {
  const { policy, retryBudget, random, signal, canBeSmaller = false } = deps
  let requestedWaitMs: Ms = 0
  let unreadableBefore: string | undefined
  /** Another attempt would get the same answer. */
  const isRepeated = ({ unreadable }: Extract<ApiFailure, { kind: 'transient' }>) => {
    const before = unreadableBefore
    unreadableBefore = unreadable
    return (
      unreadable !== undefined &&
      (unreadable === before || (canBeSmaller && unreadable === tooLargeBody))
    )
  }
  const attemptOnce = (attemptNumber: number) =>
    attempt().finally(() => {
      if (attemptNumber === 1) retryBudget.deposit()
    })
  const retryDelayMs = (failure: ApiFailure, retry: number): Ms | null => {
    if (failure.kind === 'throttled') {
      requestedWaitMs += failure.waitMs
      // The budget delays the next attempt.
      return requestedWaitMs > policy.maxRequestedWaitMs ? null : 0
    }
    if (failure.kind !== 'transient' || isRepeated(failure)) return null
    const isUnreachable = !failure.mayHaveBeenSent && !deps.hasServiceResponded()
    // A wrong password is not tried again: it may lock the user out.
    const isRefused = isUnreachable && failure.proxy?.needsPerson === true
    const attempts = isUnreachable ? attemptsWithoutResponse : policy.attempts
    if (isRefused || retry >= attempts) return null
    requestedWaitMs += failure.waitMs ?? 0
    if (requestedWaitMs > policy.maxRequestedWaitMs || !retryBudget.tryWithdraw()) return null
    return (
      (failure.waitMs ?? 0) + random() * Math.min(policy.capMs, policy.baseMs * 2 ** (retry - 1))
    )
  }
  try {
    return await pRetry(attemptOnce, {
      // One more than needed: p-retry would treat a 429 after the last retry as the end.
      retries: policy.attempts,
      minTimeout: 0,
      signal,
      shouldConsumeRetry: ({ error }) => failureOf(error)?.kind !== 'throttled',
      shouldRetry: async ({ error, retriesConsumed }) => {
        const failure = failureOf(error)
        const waitMs = failure && retryDelayMs(failure, retriesConsumed + 1)
        if (failure === null || waitMs === null) return false
        deps.onRetry(failure, waitMs)
        if (waitMs > 0) await sleep(waitMs, undefined, { signal })
        return true
      },
    })
  } catch (error) {
    throw signal.aborted ? new ApiError({ kind: 'aborted' }) : error
  }
}

const failureOf = (error: Error): ApiFailure | null =>
  error instanceof ApiError ? error.failure : null
