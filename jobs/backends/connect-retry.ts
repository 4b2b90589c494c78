/** Waits for a server that is starting, and explains what to do if it does not come up. */
import pRetry from 'p-retry'
import { serverDisplayName } from '../../src/core/server-url.ts'
import { UserError } from '../../src/core/user-error.ts'
import { isConnectionError, isRedisOutage } from './store-errors.ts'

/** Tries until it works, until it fails for a permanent reason, or until `connectTimeoutMs` are over. */
export async function retryUntilConnected<T>(
  url: string,
  connectTimeoutMs: number,
  attempt: () => Promise<T>,
  hintFor: (error: Error) => string,
): Promise<T> {
  try {
    const backoff = { minTimeout: 100, factor: 1.5, maxTimeout: 2_000, maxRetryTime: connectTimeoutMs }
    return await pRetry(attempt, { ...backoff, retries: 1_000, shouldRetry: ({ error }) => mayPass(error) })
  } catch (error) {
    throw error instanceof UserError || !(error instanceof Error) ? error : toUserError(url, error, hintFor(error))
  }
}

function toUserError(url: string, error: Error, hint: string): UserError {
  const why = error instanceof AggregateError ? error.errors.map(String).join(', ') : error.message
  // Without the error as its cause: those of ioredis contain the failed command, which may hold the password.
  if (isConnectionError(error))
    return unusableQueue(url, why, 'start the server, or set DESKMIRROR_QUEUE_URL to where it is', 1)
  if (isRedisOutage(error)) return unusableQueue(url, why, 'let Redis accept writes again, then try again', 1)
  return unusableQueue(url, why, hint)
}

const mayPass = (error: unknown) => isConnectionError(error) || isRedisOutage(error)

/** Names the address without user, password and settings. */
export function unusableQueue(url: string, why: string, next: string, exitCode: 1 | 2 = 2): UserError {
  return new UserError({ what: `cannot use the queue ${serverDisplayName(url)}`, why, next, exitCode })
}
