/** Errors of a queue's store: which of them mean that it is away, and the log of them: one line an outage, not thousands. */
import type { EpochMs, Ms } from '../../src/core/time.ts'
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

/** The same of an error that a job threw: files and folders may have failed it as well. */
export function isStoreAway(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return isAway(error) && (!/^E[A-Z_]+$/.test(code) || /^E(CONN|PIPE|TIMEDOUT|HOST|NET|NOTFOUND|AI_)/.test(code))
}

const gone =
  /^(Connection (is closed|terminated|ended)|Command timed out|Reached the max retries|Stream isn't writeable|timeout (expired|exceeded)|LOADING|MASTERDOWN|Query read timeout)|ECONN|EPIPE/

/** The same sentence again within this time says nothing new. */
const quietMs: Ms = 60_000
/** How often a store that is away is asked whether it is back. */
const askEveryMs: Ms = 1000
/** Connections come back one after the other. An outage is over when none of them has failed for so long. */
const calmMs: Ms = 2500

export type StoreErrors = {
  /** Takes every error that a queue or worker emits. */
  readonly onError: (error: Error) => void
  readonly stop: () => void
}

export type StoreErrorsOptions = {
  readonly log: Logger
  readonly backend: BackendKind
  /** Rejects when the store does not answer. */
  readonly ping: () => Promise<void>
  readonly count: () => void
}

export function watchErrors({ log, backend, ping, count }: StoreErrorsOptions): StoreErrors {
  const said = new Map<string, EpochMs>()
  let outage: { readonly since: EpochMs; errors: number; lastAt: EpochMs } | null = null
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  const ask = async () => {
    const answers = await ping().then(
      () => true,
      () => false,
    )
    if (outage === null) return
    if (!answers || Date.now() - outage.lastAt < calmMs) return askLater()
    log.info({ event: 'queue.connected', backend, for_ms: Date.now() - outage.since, errors: outage.errors })
    outage = null
  }
  const askLater = () => {
    timer = setTimeout(() => void ask(), askEveryMs).unref()
  }
  const onAway = (error: Error) => {
    if (outage === null) {
      log.warn({ event: 'queue.lost', backend, why: error.message })
      outage = { since: Date.now(), errors: 0, lastAt: 0 }
      askLater()
    }
    outage.errors += 1
    outage.lastAt = Date.now()
  }
  return {
    onError: (error) => {
      // Connections that are being closed may say so.
      if (stopped) return
      count()
      if (isAway(error)) return onAway(error)
      const silent = Date.now() - (said.get(error.message) ?? 0) > quietMs
      if (!silent) return
      if (said.size > 100) said.clear()
      said.set(error.message, Date.now())
      log.error({ event: 'queue.failed', backend, why: error.message })
    },
    stop: () => {
      stopped = true
      outage = null
      clearTimeout(timer)
    },
  }
}
