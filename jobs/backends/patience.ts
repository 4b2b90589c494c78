/** Waiting for a server that is just starting, and the sentences for a person when it does not come. */
import pRetry from 'p-retry'
import { nameOfServer } from '../../src/core/server-url.ts'
import { UserError } from '../../src/core/user-error.ts'
import { isAway } from './trouble.ts'

/** Tries until it works, fails for a reason that waiting does not cure, or `patienceMs` are over. */
export async function patiently<T>(
  url: string,
  patienceMs: number,
  attempt: () => Promise<T>,
  refused: (error: Error) => string,
): Promise<T> {
  try {
    const pace = { minTimeout: 100, factor: 1.5, maxTimeout: 2_000, maxRetryTime: patienceMs }
    return await pRetry(attempt, { ...pace, retries: 1_000, shouldRetry: ({ error }) => isAway(error) })
  } catch (error) {
    throw error instanceof UserError || !(error instanceof Error) ? error : asUserError(url, error, refused(error))
  }
}

function asUserError(url: string, error: Error, hint: string): UserError {
  const away = isAway(error)
  const why = error instanceof AggregateError ? error.errors.map(String).join(', ') : error.message
  const next = away ? 'start the server, or set DESKMIRROR_QUEUE_URL to where it is' : hint
  // Without the error as its cause: ioredis's carry the command that failed, which may be the one with the password.
  return new UserError({ what: `cannot use the queue ${named(url)}`, why, next, exitCode: away ? 1 : 2 })
}

/** The address without user, password and settings. */
export const named = nameOfServer
