/** Reads again what is worth reading again: the one layer of retries. */
import { setTimeout as sleep } from 'node:timers/promises'
import pRetry from 'p-retry'
import { ApiError, type ApiFailure } from '../core/api-failure.ts'
import type { Ms } from '../core/time.ts'

/** Tries of a read while nobody has ever answered: a wrong address should be told soon. */
const unansweredAttempts = 3

export type RetryPolicy = {
  /** Tries of one read that may fail, the first included. A 429 is none. */
  readonly attempts: number
  /** The n-th retry waits a random part of `baseMs` × 2^(n−1), at most of `capMs`. */
  readonly baseMs: Ms
  readonly capMs: Ms
  /** Sum of the waits that the service may ask of one read before we give up: after 429, and by Retry-After. */
  readonly maxAskedWaitMs: Ms
}

export const defaultRetryPolicy: RetryPolicy = { attempts: 8, baseMs: 250, capMs: 20_000, maxAskedWaitMs: 15 * 60_000 }

/**
 * The share of retries is capped, so that an outage does not multiply the load: each read earns 0.6 of a retry, and there
 * is a small store of them. A quarter of all answers may be faulty (a third of a retry each) without ever reaching it.
 */
export type RetryBudget = { readonly deposit: () => void; readonly tryWithdraw: () => boolean }

export function createRetryBudget(): RetryBudget {
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

export type RetryDeps = {
  readonly policy: RetryPolicy
  readonly retryBudget: RetryBudget
  /** 0 to below 1. */
  readonly random: () => number
  readonly signal: AbortSignal
  /** Whether the service has answered anything so far. */
  readonly hasServiceAnswered: () => boolean
  readonly onRetry: (failure: ApiFailure, waitMs: Ms) => void
}

/** Throws CallFailed when it gives up, at once when the signal says so. */
export async function withRetries<T>(attempt: () => Promise<T>, deps: RetryDeps): Promise<T> {
  const { policy, retryBudget, random, signal } = deps
  let askedWaitMs: Ms = 0
  let tries = 0
  const attemptOnce = async () => {
    tries += 1
    try {
      return await attempt()
    } finally {
      if (tries === 1) retryBudget.deposit()
    }
  }
  const retryDelayMs = (failure: ApiFailure, retry: number): Ms | null => {
    if (failure.kind === 'throttled') {
      askedWaitMs += failure.waitMs
      // The budget makes the next try wait.
      return askedWaitMs > policy.maxAskedWaitMs ? null : 0
    }
    const attempts = failure.kind === 'transient' && !failure.left && !deps.hasServiceAnswered() ? unansweredAttempts : policy.attempts
    if (failure.kind !== 'transient' || retry >= attempts) return null
    askedWaitMs += failure.waitMs ?? 0
    if (askedWaitMs > policy.maxAskedWaitMs || !retryBudget.tryWithdraw()) return null
    return (failure.waitMs ?? 0) + random() * Math.min(policy.capMs, policy.baseMs * 2 ** (retry - 1))
  }
  try {
    return await pRetry(attemptOnce, {
      // One more than we use: p-retry would count a 429 after the last retry as the end.
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

function failureOf(error: Error): ApiFailure | null {
  return error instanceof ApiError ? error.failure : null
}
