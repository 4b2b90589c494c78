/**
 * Retries while the warehouse is away: Postgres restarts, or another process locks the SQLite file. Everything retried here
 * may be repeated, even if it was done and only its response was lost.
 */
import pRetry from 'p-retry'
import type { Mirror } from '../mirror/sql/mirror.ts'
import type { LockResult } from '../mirror/sql/stream-locks.ts'
import type { Outbox } from '../outbox/sql/outbox.ts'
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

/** Long work does without it, repeats it by itself, or does it before it begins. */
const notRetried = <T>(member: T): T => member
const retried =
  <A extends unknown[], T>(call: (...args: A) => Promise<T>, retry: WarehouseRetry) =>
  (...args: A): Promise<T> =>
    retry.run(() => call(...args))
const opensRetried =
  <A extends unknown[], T extends object>(open: (...args: A) => T, retry: WarehouseRetry) =>
  (...args: A): T =>
    retryAllMethods(open(...args), retry)

/** How each member is retried: the compiler asks for each new one. */
const retryingMembers: {
  readonly [Name in keyof Warehouse]: (member: Warehouse[Name], retry: WarehouseRetry) => Warehouse[Name]
} = {
  kind: notRetried,
  migration: notRetried,
  close: notRetried,
  ping: notRetried,
  query: notRetried,
  withSnapshot: notRetried,
  outboxSnapshot: notRetried,
  grantToAnalyst: notRetried,
  installationId: notRetried,
  // Pages that people look at fail soon, and so do their decisions.
  projectDb: notRetried,
  auditLog: notRetried,
  reportData: notRetried,
  listProjects: notRetried,
  erasure: notRetried,
  // An audit and a migration continue when they are started again.
  audits: notRetried,
  deleteAudits: notRetried,
  rewriteRows: notRetried,
  // Budgets are given the retry where they are opened; the others are written again seconds later.
  budgetRecord: notRetried,
  keyUse: notRetried,
  budgetHistory: notRetried,
  recordRequests: notRetried,
  // Asked between the rate limit and a send, which must not wait.
  sends: notRetried,
  // Workers repeat their jobs.
  jobFailures: notRetried,
  deliveries: notRetried,
  analyzeTables: notRetried,
  deleteIdleRuns: notRetried,
  deleteExpired: notRetried,
  readClock: retried,
  rememberRowCounts: retried,
  status: retried,
  listGaps: retried,
  workers: retryAllMethods,
  projects: retryAllMethods,
  streamStates: retryAllMethods,
  facts: opensRetried,
  behaviours: opensRetried,
  mirror: (open, retry) => (project, options) => retryingMirror(open(project, options), retry),
  outbox: (open, retry) => (project) => retryingOutbox(open(project), retry),
  // A lock whose response was lost is held by no process, and expires.
  lockStreams:
    (lock, retry) =>
    async (...args) =>
      retryingLock(await retry.run(() => lock(...args)), retry),
}

export function retryingWarehouse(warehouse: Warehouse, retry: WarehouseRetry): Warehouse {
  const wrap = <Name extends keyof Warehouse>(name: Name) => retryingMembers[name](warehouse[name], retry)
  const names = Object.keys(retryingMembers) as (keyof Warehouse)[]
  return Object.fromEntries(names.map((name) => [name, wrap(name)])) as Warehouse
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
