/**
 * Retries while the warehouse is away: Postgres restarts, or another process locks the SQLite file. Everything retried here
 * may be repeated, even if it was done and only its response was lost.
 */
import pRetry from 'p-retry'
import type { LockResult, Mirror } from '../mirror/mirror.ts'
import type { Outbox } from '../outbox/outbox.ts'
import type { EpochMs, Ms } from '../values/time.ts'
import { isWarehouseUnavailable } from '../warehouse/explain-error.ts'
import type { Warehouse } from './open.ts'

export type WarehouseRetry = {
  /** Retries while the warehouse is away. `work` must be idempotent: it may be done although its response is lost. */
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

/**
 * What long work needs is retried. Everything else it does without, repeats by itself, or does before it begins: pages that
 * people look at fail soon, workers repeat their jobs, an audit and a migration continue when they are started again, and
 * between the rate limit and a send nothing may wait. Budgets are given the retry where they are opened.
 */
export function retryingWarehouse(warehouse: Warehouse, retry: WarehouseRetry): Warehouse {
  const { mirror, outbox, lockStreams, facts, behaviours, workers, projects, streamStates } = warehouse
  const { readClock, rememberRowCounts, status, listGaps } = warehouse
  return {
    ...warehouse,
    ...retryAllMethods({ readClock, rememberRowCounts, status, listGaps }, retry),
    workers: retryAllMethods(workers, retry),
    projects: retryAllMethods(projects, retry),
    streamStates: retryAllMethods(streamStates, retry),
    facts: (...args) => retryAllMethods(facts(...args), retry),
    behaviours: (project) => retryAllMethods(behaviours(project), retry),
    mirror: (...args) => retryingMirror(mirror(...args), retry),
    outbox: (project) => retryingOutbox(outbox(project), retry),
    // A lock whose response was lost is held by no process, and expires.
    lockStreams: async (...args) => retryingLock(await retry.run(() => lockStreams(...args)), retry),
  }
}

/** Heartbeats are not retried: the next one follows a second later. */
function retryingMirror<T extends Mirror>(mirror: T, retry: WarehouseRetry): T {
  return {
    ...retryAllMethods(mirror, retry),
    heartbeat: async (...args: Parameters<Mirror['heartbeat']>) => {
      if (!retry.isWarehouseAway()) await mirror.heartbeat(...args).catch(rethrowUnlessAway)
    },
  }
}

function retryingLock(lock: LockResult, retry: WarehouseRetry): LockResult {
  if (!lock.held) return lock
  return {
    ...lock,
    heartbeat: async (now: EpochMs) => retry.isWarehouseAway() || lock.heartbeat(now),
    release: () => retry.run(lock.release),
  }
}

/**
 * `markSending` is not retried: if it is not known whether it was recorded, nothing is sent. Lost claims are found again
 * when their lease expires. Enqueued rows may come from a stream that can be read only once, and people repeat their own
 * decisions.
 */
function retryingOutbox(outbox: Outbox, retry: WarehouseRetry): Outbox {
  const why = 'the warehouse did not answer when this was marked as sending, so nothing was sent'
  const { enqueue, decide, readLanes } = outbox
  return {
    ...retryAllMethods(outbox, retry),
    ...{ enqueue, decide, readLanes },
    markSending: async (writeback, ...rest) => {
      try {
        return await outbox.markSending(writeback, ...rest)
      } catch (error) {
        rethrowUnlessAway(error)
        await retry.run(() => outbox.settleSent(writeback, { event: 'not_sent', why }))
        return false
      }
    },
  }
}

function retryAllMethods<T extends object>(port: T, retry: WarehouseRetry): T {
  const retrying = Object.entries(port).map(([name, member]) => {
    const retried = (...values: unknown[]) => retry.run(() => member.apply(port, values))
    return [name, typeof member === 'function' ? retried : member]
  })
  return Object.fromEntries(retrying)
}

function rethrowUnlessAway(error: unknown): void {
  if (!isWarehouseUnavailable(error)) throw error
}
