/** Errors of a queue's store: which of them mean that it is away, and the log of them: one line an outage, not thousands. */
import type { Logger } from '../../src/log.ts'
import type { BackendKind } from './link.ts'

/** Nothing but these is worth trying again: the store is away, or not yet ready. */
export function isAway(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.every(isAway)
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? String(error.code) : ''
  // Postgres: 08 the connection broke, 57P it stops or starts, 53300 it is full.
  return /^(E[A-Z_]+|08\w{3}|57P0\d|53300)$/.test(code) || gone.test(error.message)
}

const gone =
  /^(Connection (is closed|terminated|ended)|Command timed out|Reached the max retries|Stream isn't writeable|timeout (expired|exceeded)|LOADING|MASTERDOWN|Query read timeout)|ECONN|EPIPE/

/** The same sentence again within this time says nothing new. */
const quietMs = 60_000

/**
 * Takes every error that a queue or worker emits. An outage ends when nothing was heard for a while: BullMQ goes on
 * trying, and is heard as long as it fails.
 */
export function watchErrors(log: Logger, backend: BackendKind): (error: Error) => void {
  const said = new Map<string, number>()
  return (error) => {
    const away = isAway(error)
    const key = away ? 'away' : error.message
    const silent = Date.now() - (said.get(key) ?? 0) > quietMs
    if (!away && said.size > 100) said.clear()
    said.set(key, away || silent ? Date.now() : (said.get(key) ?? 0))
    if (!silent) return
    if (away) log.warn({ event: 'queue.lost', backend, why: error.message })
    else log.error({ event: 'queue.failed', backend, why: error.message })
  }
}
