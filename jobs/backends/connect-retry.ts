/** Waiting for a server that is just starting, and the sentences for a person when it does not come. */
import pRetry from 'p-retry'
import { serverDisplayName } from '../../src/core/server-url.ts'
import { UserError } from '../../src/core/user-error.ts'
import { isConnectionError } from './store-errors.ts'

/** Tries until it works, fails for a reason that waiting does not cure, or `patienceMs` are over. */
export async function retryUntilConnected<T>(
  url: string,
  patienceMs: number,
  attempt: () => Promise<T>,
  hintFor: (error: Error) => string,
): Promise<T> {
  try {
    const backoff = { minTimeout: 100, factor: 1.5, maxTimeout: 2_000, maxRetryTime: patienceMs }
    return await pRetry(attempt, { ...backoff, retries: 1_000, shouldRetry: ({ error }) => isConnectionError(error) })
  } catch (error) {
    throw error instanceof UserError || !(error instanceof Error) ? error : toUserError(url, error, hintFor(error))
  }
}

function toUserError(url: string, error: Error, hint: string): UserError {
  const isConnectionLost = isConnectionError(error)
  const why = error instanceof AggregateError ? error.errors.map(String).join(', ') : error.message
  const next = isConnectionLost ? 'start the server, or set DESKMIRROR_QUEUE_URL to where it is' : hint
  // Without the error as its cause: ioredis's carry the command that failed, which may be the one with the password.
  return new UserError({ what: `cannot use the queue ${serverName(url)}`, why, next, exitCode: isConnectionLost ? 1 : 2 })
}

/** The address without user, password and settings. */
export const serverName = serverDisplayName
