/** Which errors of the queue's Redis are connection errors, and a log with a line per outage. */
import pRetry from 'p-retry'
import type { Logger } from '../../../src/log.ts'
import { addressProblem, whatToStart } from '../../../src/service/redis-problems.ts'
import { serverDisplayName } from '../../../src/values/server-address.ts'
import type { EpochMs, Ms } from '../../../src/values/time.ts'
import { errorCode, errorText, UserError } from '../../../src/values/user-error.ts'
import { createRepeatFilter } from '../../../src/worker/job-failures.ts'
import { type Backend, QueueUnavailableError } from '../backend.ts'

const connectionErrorText =
  /^(Connection is closed|Command timed out|Reached the max retries|Stream isn't writeable|LOADING|MASTERDOWN|UNBLOCKED)|ECONN|EPIPE|^(All sentinels are unreachable|None of startup nodes|Failed to refresh slots cache|Too many Cluster redirections|Cluster is )/

/** Only these are worth a retry: Redis is unreachable, or not ready yet. */
function isConnectionError(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.every(isConnectionError)
  // A mistake of a program, whose code begins like that of a system: ERR_INVALID_ARG_TYPE.
  if (error instanceof TypeError || error instanceof RangeError) return false
  return (
    error instanceof Error &&
    (/^E[A-Z_]+$/.test(errorCode(error)) || connectionErrorText.test(error.message))
  )
}

/** What a queue's call throws, with the name of the server that does not answer. */
export function nameServer(server: string, error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof UserError || !isConnectionError(error))
    return error
  const next = 'start the server; all work continues by itself'
  return new QueueUnavailableError({
    what: `cannot use the queue ${server}`,
    why: reasonOf(error),
    next,
    exitCode: 1,
  })
}

/** A name with several addresses fails for each of them. */
function reasonOf(error: Error): string {
  return error instanceof AggregateError ? error.errors.map(errorText).join(', ') : error.message
}

/**
 * Redis cannot serve at present: out of memory, a replica, unable to save, starting, full. Waiting
 * may help, unlike with a wrong password, a missing permission or an unknown command.
 */
const outageText =
  /\b(OOM|READONLY|NOREPLICAS|MISCONF|LOADING|MASTERDOWN|BUSY|CLUSTERDOWN|TRYAGAIN) |max number of clients/

const repeatAfterMs: Ms = 60_000
const pingEveryMs: Ms = 1000
/** Connections recover one by one. An outage is over when none has failed for this long. */
const recoveredAfterMs: Ms = 2500

/** `ping` rejects when Redis does not answer. */
export function createRedisErrorLog(
  { server, ping }: Pick<Backend, 'ping'> & { readonly server: string },
  log: Logger,
  countError: () => void,
) {
  const isNewMessage = createRepeatFilter(Date.now, repeatAfterMs)
  let outage: { readonly since: EpochMs; errors: number; lastAt: EpochMs } | null = null
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  const checkOutage = async () => {
    const failed = await ping().catch(() => 'failed' as const)
    if (outage === null) return
    if (failed === 'failed' || Date.now() - outage.lastAt < recoveredAfterMs) return checkLater()
    log.info({ event: 'queue.connected', for_ms: Date.now() - outage.since, errors: outage.errors })
    outage = null
  }
  const checkLater = () => {
    timer = setTimeout(() => void checkOutage(), pingEveryMs).unref()
  }
  const onConnectionError = (error: Error) => {
    if (outage === null) {
      log.warn({ event: 'queue.disconnected', server, why: reasonOf(error) })
      outage = { since: Date.now(), errors: 0, lastAt: 0 }
      checkLater()
    }
    outage.errors += 1
    outage.lastAt = Date.now()
  }
  return {
    onError: (error: Error) => {
      // Connections that are being closed may report errors.
      if (stopped) return
      countError()
      // A job whose lock ended meanwhile is done again.
      const isOfOutage = outage !== null && /\block for job\b/.test(error.message)
      if (isOfOutage || isConnectionError(error)) return onConnectionError(error)
      if (isNewMessage(error.message)) log.error({ event: 'queue.failed', why: error.message })
    },
    stop: () => {
      stopped = true
      outage = null
      clearTimeout(timer)
    },
  }
}

/** Tries until it works, fails for a permanent reason, or `connectTimeoutMs` are over. */
export async function retryUntilConnected<T>(
  url: string,
  connectTimeoutMs: Ms,
  attempt: () => Promise<T>,
): Promise<T> {
  const isOutage = (error: Error) => outageText.test(error.message)
  try {
    const backoff = {
      minTimeout: 100,
      factor: 1.5,
      maxTimeout: 2_000,
      maxRetryTime: connectTimeoutMs,
    }
    const shouldRetry = ({ error }: { error: Error }) => isConnectionError(error) || isOutage(error)
    return await pRetry(attempt, { ...backoff, retries: 1_000, shouldRetry })
  } catch (error) {
    if (error instanceof UserError || !(error instanceof Error)) throw error
    const why = reasonOf(error)
    const ofAddress = addressProblem(why)
    if (ofAddress !== null) throw unusableQueue(url, why, ofAddress.next, ofAddress.exitCode)
    // Not as its cause: ioredis's errors have the failed command, which may hold the password.
    if (isConnectionError(error)) throw unusableQueue(url, why, whatToStart(url), 1)
    if (isOutage(error))
      throw unusableQueue(url, why, 'let Redis accept writes again, then try again', 1)
    throw unusableQueue(url, why, 'check user, password and database in DESKMIRROR_QUEUE_URL')
  }
}

/** Names the address without user, password and settings. */
export function unusableQueue(
  url: string,
  why: string,
  next: string,
  exitCode: 1 | 2 = 2,
): UserError {
  return new UserError({
    what: `cannot use the queue ${serverDisplayName(url)}`,
    why,
    next,
    exitCode,
  })
}
